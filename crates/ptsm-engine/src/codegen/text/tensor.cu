// Products on tensor cores: operands rounded to a shorter type, sums in float32.
//
// A tensor core takes its inner axis in words of 32 bits: one number of tf32, or two neighbours of bf16. Counted in words, both types
// lie alike in the registers of a warp (PTX ISA, "Matrix Fragments for mma.m16n8k8" and "mma.m16n8k16"), with group = lane / 4 and
// place = lane % 4:
//
//   A, 16 rows x 8 words: a0 [group][place], a1 [group + 8][place], a2 [group][place + 4], a3 [group + 8][place + 4]
//   B, 8 words x 8 columns: b0 [place][group], b1 [place + 4][group]
//   sums, 16 x 8: c0, c1 [group][2 * place, + 1], c2, c3 [group + 8][2 * place, + 1]
//
// Rows of shared memory are as far apart as keeps the 32 words that a warp reads in 32 banks.

struct Tf32 {
    static const int NUMBERS = 1;
    static __device__ __forceinline__ word pack(float first, float) {
        word v;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(first));
        return v;
    }
    static __device__ __forceinline__ void multiply(float c[4], const word a[4], const word b[2]) {
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

struct Bf16 {
    static const int NUMBERS = 2;
    static __device__ __forceinline__ word pack(float first, float second) {
        word v;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(second), "f"(first));
        return v;
    }
    static __device__ __forceinline__ void multiply(float c[4], const word a[4], const word b[2]) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
};

// The least distance of rows that is `rest` more than a multiple of `of`.
static constexpr __device__ int apart(int least, int of, int rest) { return (least - rest + of - 1) / of * of + rest; }

// A matrix's part of 64 lines by 32 words of the inner axis. Lines are rows of the left or columns of the right operand; ALONG is whether
// the inner axis is the one that is stored without gaps.
template <class Type, bool ALONG> struct Lines {
    static const int WORDS = 32, APART = ALONG ? WORDS + 4 : 64 + 8, SIZE = ALONG ? 64 * APART : WORDS * APART;
    static __device__ __forceinline__ int at(int line, int w) { return ALONG ? line * APART + w : w * APART + line; }
    // `lines` and `inner` are the matrix's sizes; the inner axis ends at `to`.
    static __device__ __forceinline__ void load(word *shared, const float *from, int line0, int k0, int lines, int inner, int to) {
#pragma unroll 4
        for (int i = threadIdx.x; i < 64 * WORDS; i += 128) {
            int line = ALONG ? i / WORDS : i % 64, w = ALONG ? i % WORDS : i / 64;
            int k = k0 + w * Type::NUMBERS;
            float v[2] = {};
#pragma unroll
            for (int j = 0; j < Type::NUMBERS; j++)
                if (line0 + line < lines && k + j < to)
                    v[j] = ALONG ? from[(line0 + line) * inner + k + j] : from[(k + j) * lines + line0 + line];
            shared[at(line, w)] = Type::pack(v[0], v[1]);
        }
    }
};

// As `matmul`: tiles of 64 x 64, here by 4 warps of 32 x 32.
template <class Type, bool TA, bool TB>
FUNCTION tensor_matmul(const float *a, const float *b, float *out, int items, int m, int n, int k, int parts) {
    typedef Lines<Type, !TA> A;
    typedef Lines<Type, TB> B;
    __shared__ word sa[A::SIZE], sb[B::SIZE];
    int tiles_m = (m + 63) / 64, tiles_n = (n + 63) / 64, tile = blockIdx.x;
    int column0 = tile % tiles_n * 64;
    tile /= tiles_n;
    int row0 = tile % tiles_m * 64;
    tile /= tiles_m;
    int item = tile % items, part = tile / items;
    int each = (k + parts - 1) / parts, from = part * each, to = min(k, from + each);
    const float *x = a + item * m * k, *y = b + item * k * n;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, place = lane & 3;
    int own_row = (warp >> 1) * 32, own_column = (warp & 1) * 32;
    float sum[2][4][4] = {};
    for (int k0 = from; k0 < to; k0 += A::WORDS * Type::NUMBERS) {
        A::load(sa, x, row0, k0, m, k, to);
        B::load(sb, y, column0, k0, n, k, to);
        __syncthreads();
#pragma unroll
        for (int w = 0; w < A::WORDS; w += 8) {
            word p[2][4];
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    p[u][j] = sa[A::at(own_row + u * 16 + group + (j & 1) * 8, w + place + (j >> 1) * 4)];
#pragma unroll
            for (int v = 0; v < 4; v++) {
                int column = own_column + v * 8 + group;
                word q[2] = {sb[B::at(column, w + place)], sb[B::at(column, w + place + 4)]};
#pragma unroll
                for (int u = 0; u < 2; u++) Type::multiply(sum[u][v], p[u], q);
            }
        }
        __syncthreads();
    }
    float *to_out = out + (long long)(part * items + item) * m * n;
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int v = 0; v < 4; v++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int row = row0 + own_row + u * 16 + group + (j >> 1) * 8;
                int column = column0 + own_column + v * 8 + place * 2 + (j & 1);
                if (row < m && column < n) to_out[row * n + column] = sum[u][v][j];
            }
}

// Weights as `tensor_conv` reads them, zeros where there is none: [group][tile of outputs][8 words of rows][tap][16 outputs][lane][a0 .. a3].
template <class Type>
FUNCTION tensor_weights(At at, const float *w, word *out, int n, int rows, int chunks, int outs, int tiles, int sixteens,
                        int taps, bool flip) {
    EACH(i, n) {
        int j = i & 3, lane = i >> 2 & 31, left = i >> 7;
        int o = left % sixteens * 16 + (lane >> 2) + (j & 1) * 8;
        left /= sixteens;
        int k = left % taps;
        left /= taps;
        int row = (left % chunks * 8 + (lane & 3) + (j >> 1) * 4) * Type::NUMBERS;
        left /= chunks;
        o += left % tiles * sixteens * 16;
        const float *own = w + left / tiles * outs * rows * taps;
        float v[2] = {};
#pragma unroll
        for (int u = 0; u < Type::NUMBERS; u++)
            if (o < outs && row + u < rows)
                v[u] = flip ? own[((row + u) * outs + o) * taps + taps - 1 - k] : own[(o * rows + row + u) * taps + k];
        out[i] = Type::pack(v[0], v[1]);
    }
}

// As `conv`: each tap is a product over rows of the signal, read at a shifted place. A block makes WO * MI * 16 outputs of WP * NI * 8
// places of one trial; a warp MI * 16 outputs of NI * 8 places.
template <class Type, int GROUPS, int ROWS, int OUTS, int TAPS, int LEFT, int TIME, int PLACES, int MI, int NI, int WO, int WP>
FUNCTION tensor_conv(const float *x, const word *w, const float *bias, float *out) {
    const int TO = 16 * MI * WO, TT = 8 * NI * WP, THREADS = 32 * WO * WP;
    const int WIDTH = TT + TAPS - 1, APART = apart(WIDTH, 16, 8);
    const int CHUNKS = (ROWS + 8 * Type::NUMBERS - 1) / (8 * Type::NUMBERS), PART = TAPS * TO * 8;
    __shared__ word sx[8 * APART];
    __shared__ __align__(16) word sw[PART];
    const int tiles_t = (PLACES + TT - 1) / TT, tiles_o = (OUTS + TO - 1) / TO;
    int tile = blockIdx.x, t0 = tile % tiles_t * TT;
    tile /= tiles_t;
    int to = tile % tiles_o, o0 = to * TO;
    tile /= tiles_o;
    int group_of = tile % GROUPS, trial = tile / GROUPS;
    const float *from = x + (long long)(trial * GROUPS + group_of) * ROWS * TIME;
    const word *weight = w + (group_of * tiles_o + to) * CHUNKS * PART;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, place = lane & 3;
    int wp = warp % WP, wo = warp / WP;
    float sum[MI][NI][4] = {};
    for (int c = 0; c < CHUNKS; c++) {
#pragma unroll 4
        for (int i = threadIdx.x; i < 8 * WIDTH; i += THREADS) {
            int q = i / WIDTH, j = i % WIDTH, t = t0 + j - LEFT, row = (c * 8 + q) * Type::NUMBERS;
            float v[2] = {};
#pragma unroll
            for (int u = 0; u < Type::NUMBERS; u++)
                if (row + u < ROWS && t >= 0 && t < TIME) v[u] = from[(row + u) * TIME + t];
            sx[q * APART + j] = Type::pack(v[0], v[1]);
        }
        const uint4 *part = (const uint4 *)(weight + c * PART);
#pragma unroll 4
        for (int i = threadIdx.x; i < PART / 4; i += THREADS) ((uint4 *)sw)[i] = part[i];
        __syncthreads();
#pragma unroll(TAPS <= 8 ? TAPS : 4)
        for (int k = 0; k < TAPS; k++) {
            word a[MI][4];
#pragma unroll
            for (int u = 0; u < MI; u++) {
                uint4 v = ((const uint4 *)sw)[(k * MI * WO + wo * MI + u) * 32 + lane];
                a[u][0] = v.x, a[u][1] = v.y, a[u][2] = v.z, a[u][3] = v.w;
            }
            const word *s = sx + place * APART + wp * NI * 8 + group + k;
#pragma unroll
            for (int v = 0; v < NI; v++) {
                word b[2] = {s[v * 8], s[4 * APART + v * 8]};
#pragma unroll
                for (int u = 0; u < MI; u++) Type::multiply(sum[u][v], a[u], b);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < MI; u++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int o = o0 + (wo * MI + u) * 16 + half * 8 + group;
            if (o >= OUTS) continue;
            float start = bias ? bias[group_of * OUTS + o] : 0.0f;
            float *own = out + ((long long)(trial * GROUPS + group_of) * OUTS + o) * PLACES;
#pragma unroll
            for (int v = 0; v < NI; v++) {
                int t = t0 + (wp * NI + v) * 8 + place * 2;
                float first = sum[u][v][half * 2] + start, second = sum[u][v][half * 2 + 1] + start;
                if (PLACES % 2 == 0) {
                    if (t < PLACES) *(float2 *)(own + t) = make_float2(first, second);
                } else {
                    if (t < PLACES) own[t] = first;
                    if (t + 1 < PLACES) own[t + 1] = second;
                }
            }
        }
}

// As `conv_weight`: for each tap a product over places. A block makes MI * 16 outputs by RT * 8 rows, all taps; its W warps share the
// RT * TAPS products of 8 rows and a tap, NI each. Two numbers in a word begin at even places only, so there is a second copy of the
// signal, one place on, for the odd taps.
template <class Type, int BATCH, int GROUPS, int ROWS, int OUTS, int TAPS, int LEFT, int TIME, int PLACES, int PARTS, int STEP,
          int MI, int NI, int RT, int W>
FUNCTION tensor_conv_weight(const float *grad, const float *x, float *out) {
    const int PER = Type::NUMBERS, TO = 16 * MI, TR = 8 * RT, THREADS = 32 * W, SPAN = STEP + TAPS - 1;
    const int APART_G = apart(STEP / PER, 8, 4), APART_X = apart((SPAN + PER - 1) / PER, 8, 4), COPY = TR * APART_X;
    __shared__ word sg[TO * APART_G], sx[PER * COPY];
    const int tiles_r = (ROWS + TR - 1) / TR, tiles_o = (OUTS + TO - 1) / TO;
    int tile = blockIdx.x, r0 = tile % tiles_r * TR;
    tile /= tiles_r;
    int o0 = tile % tiles_o * TO;
    tile /= tiles_o;
    int group_of = tile % GROUPS, part = tile / GROUPS;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, place = lane & 3;
    int begins[NI];
#pragma unroll
    for (int v = 0; v < NI; v++) {
        int own = warp * NI + v, k = own % TAPS, r = own / TAPS;
        // What is more than all products is computed as the first and dropped.
        if (r >= RT) r = 0, k = 0;
        begins[v] = k % PER * COPY + (r * 8 + group) * APART_X + k / PER + place;
    }
    float sum[MI][NI][4] = {};
    for (int b = part * BATCH / PARTS; b < (part + 1) * BATCH / PARTS; b++) {
        const float *g = grad + (long long)((b * GROUPS + group_of) * OUTS + o0) * PLACES;
        const float *s = x + (long long)((b * GROUPS + group_of) * ROWS + r0) * TIME;
        for (int t0 = 0; t0 < PLACES; t0 += STEP) {
#pragma unroll 4
            for (int i = threadIdx.x; i < TO * (STEP / PER); i += THREADS) {
                int o = i / (STEP / PER), j = i % (STEP / PER), t = t0 + j * PER;
                float v[2] = {};
#pragma unroll
                for (int u = 0; u < PER; u++)
                    if (o0 + o < OUTS && t + u < PLACES) v[u] = g[o * PLACES + t + u];
                sg[o * APART_G + j] = Type::pack(v[0], v[1]);
            }
#pragma unroll 4
            for (int i = threadIdx.x; i < TR * SPAN; i += THREADS) {
                int r = i / SPAN, j = i % SPAN, t = t0 + j - LEFT;
                float v[2] = {};
#pragma unroll
                for (int u = 0; u < PER; u++)
                    if (r0 + r < ROWS && t + u >= 0 && t + u < TIME) v[u] = s[r * TIME + t + u];
                sx[j % PER * COPY + r * APART_X + j / PER] = Type::pack(v[0], v[1]);
            }
            __syncthreads();
#pragma unroll 1
            for (int w = 0; w < STEP / PER; w += 8) {
                word a[MI][4];
#pragma unroll
                for (int u = 0; u < MI; u++)
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        a[u][j] = sg[(u * 16 + group + (j & 1) * 8) * APART_G + w + place + (j >> 1) * 4];
#pragma unroll
                for (int v = 0; v < NI; v++) {
                    word q[2] = {sx[begins[v] + w], sx[begins[v] + w + 4]};
#pragma unroll
                    for (int u = 0; u < MI; u++) Type::multiply(sum[u][v], a[u], q);
                }
            }
            __syncthreads();
        }
    }
    float *part_out = out + (long long)part * GROUPS * OUTS * ROWS * TAPS;
#pragma unroll
    for (int v = 0; v < NI; v++) {
        int own = warp * NI + v, k = own % TAPS, r = own / TAPS;
#pragma unroll
        for (int u = 0; u < MI; u++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int o = o0 + u * 16 + group + (j >> 1) * 8, row = r0 + r * 8 + place * 2 + (j & 1);
                if (r < RT && o < OUTS && row < ROWS)
                    part_out[((group_of * OUTS + o) * ROWS + row) * TAPS + k] = sum[u][v][j];
            }
    }
}
