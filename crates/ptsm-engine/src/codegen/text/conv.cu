// Convolution along time, and its gradients.

// Weights as `conv` reads them: [group][tile of outputs][row][tap][output], zeros where there is none. FLIP runs backwards through them,
// for the gradient of the input.
FUNCTION conv_weights(At at, const float *w, float *out, int n, int rows, int all_rows, int outs, int tiles, int tile,
                      int taps, bool flip) {
    EACH(i, n) {
        int o = i % tile, left = i / tile, k = left % taps;
        left /= taps;
        int row = left % all_rows;
        left /= all_rows;
        o += left % tiles * tile;
        const float *own = w + left / tiles * outs * rows * taps;
        float v = 0.0f;
        if (o < outs && row < rows)
            v = flip ? own[(row * outs + o) * taps + taps - 1 - k] : own[(o * rows + row) * taps + k];
        out[i] = v;
    }
}

// A signal [B, G * ROWS, TIME], LEFT zeros before it, filtered to [B, G * OUTS, PLACES]. A block makes OG * RO outputs of TG * 8 places
// of one trial; a thread RO outputs of two times 4 places, whose samples it holds in registers for all taps. The fours of a thread are TG * 4
// places apart, so that neighbouring threads read neighbouring samples.
template <int GROUPS, int ROWS, int OUTS, int TAPS, int LEFT, int TIME, int PLACES, int RO, int OG, int TG, int CHUNK>
FUNCTION conv(const float *x, const float *w, const float *bias, float *out) {
    const int Q = 2, TO = RO * OG, TT = 4 * Q * TG, THREADS = OG * TG;
    const int WIDTH = (TT + TAPS - 1 + 3) / 4 * 4;
    const int HOLD = TAPS <= 16 ? (4 + TAPS - 1 + 3) / 4 * 4 : 4;
    const int ALL_ROWS = (ROWS + CHUNK - 1) / CHUNK * CHUNK;
    __shared__ __align__(16) float sx[CHUNK][WIDTH + 4], sw[CHUNK][TAPS][TO];
    const int tiles_t = (PLACES + TT - 1) / TT, tiles_o = (OUTS + TO - 1) / TO;
    int tile = blockIdx.x, t0 = tile % tiles_t * TT;
    tile /= tiles_t;
    int to = tile % tiles_o, o0 = to * TO;
    tile /= tiles_o;
    int group = tile % GROUPS, trial = tile / GROUPS;
    const float *from = x + (long long)(trial * GROUPS + group) * ROWS * TIME;
    const float *weight = w + (group * tiles_o + to) * ALL_ROWS * TAPS * TO;
    int tg = threadIdx.x % TG, og = threadIdx.x / TG;
    float sum[RO][Q][4] = {};
    for (int c0 = 0; c0 < ROWS; c0 += CHUNK) {
        for (int i = threadIdx.x; i < CHUNK * WIDTH; i += THREADS) {
            int c = i / WIDTH, t = t0 + i % WIDTH - LEFT;
            sx[c][i % WIDTH] = c0 + c < ROWS && t >= 0 && t < TIME ? from[(c0 + c) * TIME + t] : 0.0f;
        }
        const float *part = weight + c0 * TAPS * TO;
        if (TO % 4 == 0) {
            for (int i = threadIdx.x; i < CHUNK * TAPS * TO / 4; i += THREADS)
                ((float4 *)sw)[i] = ((const float4 *)part)[i];
        } else {
            for (int i = threadIdx.x; i < CHUNK * TAPS * TO; i += THREADS) ((float *)sw)[i] = part[i];
        }
        __syncthreads();
#pragma unroll 1
        for (int c = 0; c < CHUNK; c++) {
            if (TAPS <= 16) {
                float hold[Q][HOLD];
#pragma unroll
                for (int q = 0; q < Q; q++)
#pragma unroll
                    for (int j = 0; j < HOLD; j += 4) {
                        float4 v = *(float4 *)&sx[c][(q * TG + tg) * 4 + j];
                        hold[q][j] = v.x, hold[q][j + 1] = v.y, hold[q][j + 2] = v.z, hold[q][j + 3] = v.w;
                    }
#pragma unroll
                for (int k = 0; k < TAPS; k++) {
                    float f[RO];
                    if (RO == 4) {
                        float4 v = *(float4 *)&sw[c][k][og * RO];
                        f[0] = v.x, f[1 % RO] = v.y, f[2 % RO] = v.z, f[3 % RO] = v.w;
                    } else {
#pragma unroll
                        for (int u = 0; u < RO; u++) f[u] = sw[c][k][og * RO + u];
                    }
#pragma unroll
                    for (int u = 0; u < RO; u++)
#pragma unroll
                        for (int q = 0; q < Q; q++)
#pragma unroll
                            for (int j = 0; j < 4; j++)
                                sum[u][q][j] += f[u] * hold[q][TAPS <= 16 ? j + k : j];
                }
            } else {
                for (int k = 0; k < TAPS; k++)
#pragma unroll
                    for (int u = 0; u < RO; u++) {
                        float f = sw[c][k][og * RO + u];
#pragma unroll
                        for (int q = 0; q < Q; q++)
#pragma unroll
                            for (int j = 0; j < 4; j++) sum[u][q][j] += f * sx[c][(q * TG + tg) * 4 + j + k];
                    }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < RO; u++) {
        int o = o0 + og * RO + u;
        if (o >= OUTS) continue;
        float start = bias ? bias[group * OUTS + o] : 0.0f;
        float *to = out + ((long long)(trial * GROUPS + group) * OUTS + o) * PLACES;
#pragma unroll
        for (int q = 0; q < Q; q++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int t = t0 + (q * TG + tg) * 4 + j;
                if (t < PLACES) to[t] = sum[u][q][j] + start;
            }
    }
}

// The gradient of the weights, [GROUPS * OUTS, ROWS, TAPS], over a part of the batch: a block makes 32 outputs by 16 * RR rows, a thread
// 4 outputs by RR rows, all taps.
template <int BATCH, int GROUPS, int ROWS, int OUTS, int TAPS, int LEFT, int TIME, int PLACES, int PARTS, int RR>
FUNCTION conv_weight(const float *grad, const float *x, float *out) {
    const int TR = 16 * RR, STEP = 32, SPAN = STEP + TAPS - 1;
    __shared__ __align__(16) float sg[STEP][36], sx[SPAN][TR + 1];
    const int tiles_r = (ROWS + TR - 1) / TR, tiles_o = (OUTS + 31) / 32;
    int tile = blockIdx.x, r0 = tile % tiles_r * TR;
    tile /= tiles_r;
    int o0 = tile % tiles_o * 32;
    tile /= tiles_o;
    int group = tile % GROUPS, part = tile / GROUPS;
    int tr = threadIdx.x % 16, to = threadIdx.x / 16;
    float sum[4][RR][TAPS] = {};
    for (int b = part * BATCH / PARTS; b < (part + 1) * BATCH / PARTS; b++) {
        const float *g = grad + (long long)((b * GROUPS + group) * OUTS + o0) * PLACES;
        const float *s = x + (long long)((b * GROUPS + group) * ROWS + r0) * TIME;
        for (int t0 = 0; t0 < PLACES; t0 += STEP) {
            for (int i = threadIdx.x; i < 32 * STEP; i += 128) {
                int o = i / STEP, t = i % STEP;
                sg[t][o] = o0 + o < OUTS && t0 + t < PLACES ? g[o * PLACES + t0 + t] : 0.0f;
            }
            for (int i = threadIdx.x; i < TR * SPAN; i += 128) {
                int r = i / SPAN, j = i % SPAN, t = t0 + j - LEFT;
                sx[j][r] = r0 + r < ROWS && t >= 0 && t < TIME ? s[r * TIME + t] : 0.0f;
            }
            __syncthreads();
#pragma unroll 1
            for (int t = 0; t < STEP; t += 4) {
                float hold[RR][4 + TAPS - 1];
#pragma unroll
                for (int r = 0; r < RR; r++)
#pragma unroll
                    for (int j = 0; j < 4 + TAPS - 1; j++) hold[r][j] = sx[t + j][tr + 16 * r];
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    float4 v = *(float4 *)&sg[t + j][to * 4];
                    float slope[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                    for (int u = 0; u < 4; u++)
#pragma unroll
                        for (int r = 0; r < RR; r++)
#pragma unroll
                            for (int k = 0; k < TAPS; k++) sum[u][r][k] += slope[u] * hold[r][j + k];
                }
            }
            __syncthreads();
        }
    }
    float *part_out = out + (long long)part * GROUPS * OUTS * ROWS * TAPS;
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
        for (int r = 0; r < RR; r++) {
            int o = o0 + to * 4 + u, row = r0 + tr + 16 * r;
            if (o < OUTS && row < ROWS)
#pragma unroll
                for (int k = 0; k < TAPS; k++)
                    part_out[((group * OUTS + o) * ROWS + row) * TAPS + k] = sum[u][r][k];
        }
}

// The same where taps are many or rows are few: a warp for each weight and part of the batch.
FUNCTION conv_weight_rows(At at, const float *grad, const float *x, float *out, int batch, int groups, int rows, int outs,
                          int taps, int left, int time, int places, int parts) {
    int n = groups * outs * rows * taps;
    EACH_WARP(i, n * parts) {
        int part = i / n, weight = i % n;
        int k = weight % taps, row = weight / taps % rows, o = weight / taps / rows, group = o / outs;
        float sum = 0.0f;
        for (int b = part * batch / parts; b < (part + 1) * batch / parts; b++) {
            const float *g = grad + (b * groups * outs + o) * places;
            const float *s = x + ((b * groups + group) * rows + row) * time;
            EACH_LANE(t, places) {
                int u = t + k - left;
                if (u >= 0 && u < time) sum += g[t] * s[u];
            }
        }
        sum = warp_sum(sum);
        if ((at.thread & 31) == 0) out[i] = sum;
    }
}
