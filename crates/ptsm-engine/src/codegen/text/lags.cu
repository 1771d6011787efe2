// Mean products of a signal with shifted copies of itself; see ops/lags.rs. For each trial: taps products, one sum, then at both edges the
// Gram matrix and the sums.

static __device__ __forceinline__ float padded(const float *row, int t, int left, int time) {
    t -= left;
    return t >= 0 && t < time ? row[t] : 0.0f;
}

// A block of 256 for each trial: 16 threads over lags, four each, and 16 over places. PADDED samples of a row, LAGS more than taps.
template <int PADDED, int TAPS>
FUNCTION lag_products(const float *x, float *work, int c, int time, int left) {
    const int PLACES = PADDED + 1 - TAPS, SPAN = (PLACES + 15) / 16, PER = TAPS + 1 + 2 * (TAPS * TAPS + TAPS);
    __shared__ float row[PADDED + 80], sums[16][64];
    int trial = blockIdx.x, over = threadIdx.x % 16, part = threadIdx.x / 16;
    for (int i = threadIdx.x; i < PADDED + 80; i += 256) row[i] = 0.0f;
    for (int first = 0; first <= TAPS; first += 64) {
        float sum[4] = {};
        for (int channel = 0; channel < c; channel++) {
            __syncthreads();
            for (int t = threadIdx.x; t < time; t += 256) row[left + t] = x[(trial * c + channel) * time + t];
            __syncthreads();
            int lag = first + over * 4, from = part * SPAN, to = min(PLACES, from + SPAN);
            if (lag > TAPS || from >= to) continue;
            float next[4] = {row[from + lag], row[from + lag + 1], row[from + lag + 2], 0.0f};
            for (int t = from; t < to; t++) {
                next[3] = row[t + lag + 3];
                float v = row[t];
#pragma unroll
                for (int u = 0; u < 4; u++) sum[u] += lag + u == TAPS ? v : v * next[u];
                next[0] = next[1], next[1] = next[2], next[2] = next[3];
            }
        }
        __syncthreads();
        for (int u = 0; u < 4; u++) sums[part][over * 4 + u] = sum[u];
        __syncthreads();
        if (threadIdx.x < 64 && first + threadIdx.x <= TAPS) {
            float total = 0.0f;
            for (int p = 0; p < 16; p++) total += sums[p][threadIdx.x];
            work[trial * PER + first + threadIdx.x] = total;
        }
        __syncthreads();
    }
}

// A thread for each trial, edge and entry; only the lower half is made, the other is its mirror image.
FUNCTION lag_edges(At at, const float *x, float *work, int b, int c, int time, int taps, int left, int right) {
    int places = time + left + right + 1 - taps, edge = taps * taps + taps, per = taps + 1 + 2 * edge;
    EACH(i, b * 2 * edge) {
        int trial = i / (2 * edge), j = i % (2 * edge), from = j < edge ? 0 : places;
        int entry = j % edge, p = entry / taps, q = entry % taps;
        bool plain = p == taps;
        if (!plain && p > q) continue;
        float sum = 0.0f;
        if (q < taps - 1)
            for (int channel = 0; channel < c; channel++) {
                const float *row = x + (trial * c + channel) * time;
                float v = padded(row, from + q, left, time);
                sum += plain ? v : v * padded(row, from + p, left, time);
            }
        float *to = work + trial * per + taps + 1 + (j < edge ? 0 : edge);
        to[entry] = sum;
        if (!plain) to[q * taps + p] = sum;
    }
}

// The trials' numbers added up, into the first trial's place behind all of them.
FUNCTION lag_totals(At at, const float *work, float *totals, int b, int taps) {
    int per = taps + 1 + 2 * (taps * taps + taps);
    EACH(i, per) {
        double sum = 0.0;
        for (int trial = 0; trial < b; trial++) sum += work[trial * per + i];
        ((double *)totals)[i] = sum;
    }
}

// By one block.
FUNCTION lag_moments(At at, const float *totals, float *out, int b, int c, int time, int taps, int left, int right) {
    const double *total = (const double *)totals;
    int places = time + left + right + 1 - taps, k = taps;
    int head = k + 1, tail = k + 1 + k * k + k;
    double scale = 1.0 / ((double)b * c * places);
    if (at.thread == 0) {
        double value = total[k];
        for (int j = 0; j < k; j++) {
            out[k * k + j] = value * scale;
            if (j + 1 < k) value += total[tail + k * k + j] - total[head + k * k + j];
        }
    }
    __syncthreads();
    EACH(lag, k) {
        double value = total[lag];
        for (int i = 0; i < k - lag; i++) {
            int j = i + lag;
            float covariance = value * scale - (double)out[k * k + i] * out[k * k + j];
            out[i * k + j] = covariance, out[j * k + i] = covariance;
            if (j + 1 < k) value += total[tail + i * k + j] - total[head + i * k + j];
        }
    }
}
