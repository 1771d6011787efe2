// What every kernel uses. A function works for one replica; `at` says which of the threads that share the work this one is.

typedef unsigned int word;

struct At {
    int thread, threads;
};

// What is handed in for an input: the values, or a table of rows and the numbers of those that are meant. Numbers from `length` on mean
// images of rows: their parts, of `part` values each, in another order.
struct Feed {
    const float *data;
    const word *rows, *order;
    int length, part;
};

// One replica of this run: its place in memory, its random numbers, its optimizer, what it is fed and where it reports.
struct Replica {
    int place;
    word low, high, step;
    float update[4];
    const Feed *feeds;
    float *report;
};

#define INFINITE __int_as_float(0x7f800000)
#define FUNCTION static __device__ __noinline__ void
#define EACH(i, n) for (int i = at.thread; i < (n); i += at.threads)
#define POINTWISE(i, n) EACH(i, n)
#define EACH_WARP(i, n) for (int i = at.thread >> 5; i < (n); i += at.threads >> 5)
#define EACH_LANE(i, n) for (int i = at.thread & 31; i < (n); i += 32)

static __device__ __forceinline__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

static __device__ __forceinline__ float warp_most(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}

// The sum over a block, for all its threads. `shared` holds 32 numbers.
static __device__ __forceinline__ float block_sum(float v, float *shared) {
    v = warp_sum(v);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) shared[threadIdx.x >> 5] = v;
    __syncthreads();
    v = threadIdx.x < (blockDim.x + 31) / 32 ? shared[threadIdx.x] : 0.0f;
    if (threadIdx.x < 32) {
        v = warp_sum(v);
        if (threadIdx.x == 0) shared[0] = v;
    }
    __syncthreads();
    return shared[0];
}

// The larger one, or NaN if either is.
static __device__ __forceinline__ float most(float a, float b) {
    float larger = a < b ? b : a;
    return b != b ? b : larger;
}

// Philox4x32-10, the same numbers as on the CPU.
static __device__ __forceinline__ void philox(word c[4], word k0, word k1) {
#pragma unroll
    for (int i = 0; i < 10; i++) {
        word a_high = __umulhi(c[0], 0xD2511F53u), a_low = c[0] * 0xD2511F53u;
        word b_high = __umulhi(c[2], 0xCD9E8D57u), b_low = c[2] * 0xCD9E8D57u;
        word n0 = b_high ^ c[1] ^ k0, n2 = a_high ^ c[3] ^ k1;
        c[0] = n0, c[1] = b_low, c[2] = n2, c[3] = a_low;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
}

// Dropout as a factor: 0, or 1 / (1 - p). `bits` decide, values below `below` mean 0. A lane that goes through a row in steps of 32
// meets the same words for thousands of places and keeps them at hand.
struct Hand {
    word words[4];
    int block;
};

struct Drop {
    word stream;
    int bits;
    word below;
    float scale;
    __device__ __forceinline__ Hand hand() const {
        Hand none;
        none.block = -1;
        return none;
    }
    __device__ __forceinline__ float at(const Replica &own, word row, int j, Hand &hand) const {
        int groups = 128 / bits, group = j >> 4, block = group / groups;
        group -= block * groups;
        if (block != hand.block) {
            hand.block = block;
            hand.words[0] = block * 16 + (j & 15), hand.words[1] = row, hand.words[2] = stream, hand.words[3] = own.step;
            philox(hand.words, own.low, own.high);
        }
        int which = group & 3;
        word v = which == 0 ? hand.words[0] : which == 1 ? hand.words[1] : which == 2 ? hand.words[2] : hand.words[3];
        v = (v >> ((group >> 2) * bits)) & ((1u << bits) - 1u);
        return v < below ? 0.0f : scale;
    }
    __device__ __forceinline__ float at(const Replica &own, word row, int j) const {
        Hand once = hand();
        return at(own, row, j, once);
    }
};

struct Keep {
    __device__ __forceinline__ Hand hand() const { return Hand(); }
    __device__ __forceinline__ float at(const Replica &, word, int, Hand &) const { return 1.0f; }
    __device__ __forceinline__ float at(const Replica &, word, int) const { return 1.0f; }
};
