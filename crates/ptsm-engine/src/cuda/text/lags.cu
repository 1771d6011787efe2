// Mean products of a signal with shifted copies of itself; see ops/lags.rs. For each trial: taps products, one sum, then at both edges the
// Gram matrix and the sums.

static __device__ __forceinline__ float padded(const float *row, int t, int left, int time) {
    t -= left;
    return t >= 0 && t < time ? row[t] : 0.0f;
}

// A warp for each trial and lag (the last one is the plain sum).
FUNCTION lag_products(At at, const float *x, float *work, int b, int c, int time, int taps, int left, int right) {
    int places = time + left + right + 1 - taps, per = taps + 1 + 2 * (taps * taps + taps);
    EACH_WARP(i, b * (taps + 1)) {
        int trial = i / (taps + 1), lag = i % (taps + 1);
        float sum = 0.0f;
        for (int channel = 0; channel < c; channel++) {
            const float *row = x + (trial * c + channel) * time;
            EACH_LANE(t, places) {
                float v = padded(row, t, left, time);
                sum += lag == taps ? v : v * padded(row, t + lag, left, time);
            }
        }
        sum = warp_sum(sum);
        if ((at.thread & 31) == 0) work[trial * per + lag] = sum;
    }
}

// A thread for each trial, edge and entry.
FUNCTION lag_edges(At at, const float *x, float *work, int b, int c, int time, int taps, int left, int right) {
    int places = time + left + right + 1 - taps, edge = taps * taps + taps, per = taps + 1 + 2 * edge;
    EACH(i, b * 2 * edge) {
        int trial = i / (2 * edge), j = i % (2 * edge), from = j < edge ? 0 : places;
        int entry = j % edge, p = entry / taps, q = entry % taps;
        bool plain = p == taps;
        float sum = 0.0f;
        if (q < taps - 1 && (plain || p < taps - 1))
            for (int channel = 0; channel < c; channel++) {
                const float *row = x + (trial * c + channel) * time;
                float v = padded(row, from + q, left, time);
                sum += plain ? v : v * padded(row, from + p, left, time);
            }
        work[trial * per + taps + 1 + j] = sum;
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
