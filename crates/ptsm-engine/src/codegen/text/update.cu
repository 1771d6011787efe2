// What all optimizers share. Moved tensors are cut into chunks: where the gradient, the parameter and the optimizer's states stand, and how
// many numbers.

// Sums of squares, a block for each chunk.
FUNCTION squares(const int4 *chunks, const float *m, float *partial) {
    __shared__ float shared[32];
    int4 chunk = chunks[blockIdx.x];
    const float *g = m + chunk.x;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < chunk.w; i += blockDim.x) sum += g[i] * g[i];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// The gradient's norm, by one warp.
FUNCTION gradient_norm(At at, const float *partial, float *out, int n) {
    if (at.thread >= 32) return;
    double sum = 0.0;
    EACH_LANE(i, n) sum += partial[i];
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (at.thread == 0) out[0] = (float)sqrt(sum);
}

// Slices of a constrained tensor scaled down to their largest norm, a warp each.
FUNCTION constrain(At at, const float *norm, float *values, int slices, int n, float largest) {
    if (!(norm[0] <= 3.4028234e38f)) return;
    EACH_WARP(i, slices) {
        double sum = 0.0;
        EACH_LANE(j, n) sum += (double)values[i * n + j] * values[i * n + j];
        for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
        double length = sqrt(sum);
        if (length > largest) {
            float factor = (float)(largest / length);
            EACH_LANE(j, n) values[i * n + j] *= factor;
        }
    }
}

FUNCTION replace(At at, const float *norm, const float *from, float *to, int n) {
    if (!(norm[0] <= 3.4028234e38f)) return;
    EACH(i, n) to[i] = from[i];
}
