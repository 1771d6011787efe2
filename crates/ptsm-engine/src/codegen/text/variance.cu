// Variance over the last axis and its gradient, a warp for each row. `EACH_WARP` deals rows to warps, `EACH_LANE` a row's numbers to lanes.

FUNCTION variance(At at, const float *x, float *out, int rows, int n) {
    EACH_WARP(i, rows) {
        float mean, squares;
        row_moments(at, x + i * n, n, &mean, &squares);
        if ((at.thread & 31) == 0) out[i] = squares * (1.0f / n);
    }
}

FUNCTION variance_grad(At at, const float *x, const float *grad, float *out, int rows, int n) {
    EACH_WARP(i, rows) {
        float mean, squares;
        row_moments(at, x + i * n, n, &mean, &squares);
        float factor = grad[i] * (2.0f / n);
        EACH_LANE(j, n) out[i * n + j] = (x[i * n + j] - mean) * factor;
    }
}
