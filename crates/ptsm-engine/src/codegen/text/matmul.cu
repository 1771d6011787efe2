// Matrix products.

static __device__ __forceinline__ float element(const float *a, int row, int column, int rows, int columns, bool turned) {
    return turned ? a[column * rows + row] : a[row * columns + column];
}

// Small ones: a thread for each result.
FUNCTION matmul_small(At at, const float *a, const float *b, float *out, int items, int m, int n, int k, bool ta,
                      bool tb) {
    EACH(i, items * m * n) {
        int item = i / (m * n), row = i / n % m, column = i % n;
        const float *x = a + item * m * k, *y = b + item * k * n;
        float sum = 0.0f;
        for (int j = 0; j < k; j++) sum += element(x, row, j, m, k, ta) * element(y, j, column, k, n, tb);
        out[i] = sum;
    }
}

// Tiles of 64 x 64 by 256 threads, 4 x 4 each; the inner axis in `parts`, whose results follow each other.
template <bool TA, bool TB>
FUNCTION matmul(const float *a, const float *b, float *out, int items, int m, int n, int k, int parts) {
    __shared__ float sa[16][68], sb[16][68];
    int tiles_m = (m + 63) / 64, tiles_n = (n + 63) / 64, tile = blockIdx.x;
    int column0 = tile % tiles_n * 64;
    tile /= tiles_n;
    int row0 = tile % tiles_m * 64;
    tile /= tiles_m;
    int item = tile % items, part = tile / items;
    int each = (k + parts - 1) / parts, from = part * each, to = min(k, from + each);
    const float *x = a + item * m * k, *y = b + item * k * n;
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {}, next_a[4], next_b[4];
    // What the next round needs is on its way while this one computes.
    auto fetch = [&](int k0) {
#pragma unroll
        for (int u = 0; u < 4; u++) {
            // Neighbouring threads read neighbouring numbers, whichever way a matrix is stored.
            int i = threadIdx.x + 256 * u, r = TA ? i % 64 : i / 16, j = TA ? i / 64 : i % 16;
            next_a[u] = row0 + r < m && k0 + j < to ? element(x, row0 + r, k0 + j, m, k, TA) : 0.0f;
            int c = TB ? i / 16 : i % 64, l = TB ? i % 16 : i / 64;
            next_b[u] = column0 + c < n && k0 + l < to ? element(y, k0 + l, column0 + c, k, n, TB) : 0.0f;
        }
    };
    fetch(from);
    for (int k0 = from; k0 < to; k0 += 16) {
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int i = threadIdx.x + 256 * u;
            sa[TA ? i / 64 : i % 16][TA ? i % 64 : i / 16] = next_a[u];
            sb[TB ? i % 16 : i / 64][TB ? i / 16 : i % 64] = next_b[u];
        }
        __syncthreads();
        if (k0 + 16 < to) fetch(k0 + 16);
#pragma unroll
        for (int j = 0; j < 16; j++) {
            float4 p = *(float4 *)&sa[j][ty * 4], q = *(float4 *)&sb[j][tx * 4];
            float pa[4] = {p.x, p.y, p.z, p.w}, qb[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int u = 0; u < 4; u++)
#pragma unroll
                for (int v = 0; v < 4; v++) sum[u][v] += pa[u] * qb[v];
        }
        __syncthreads();
    }
    float *to_out = out + (long long)(part * items + item) * m * n;
    for (int u = 0; u < 4; u++)
        for (int v = 0; v < 4; v++) {
            int row = row0 + ty * 4 + u, column = column0 + tx * 4 + v;
            if (row < m && column < n) to_out[row * n + column] = sum[u][v];
        }
}
