// Sums. Neighbouring axes of one kind are merged: reduced r0, kept k0, reduced r1, kept k1, reduced r2.

// One thread for each result.
FUNCTION sum_columns(At at, const float *x, float *out, int r0, int k0, int r1, int k1, int r2) {
    EACH(i, k0 * k1) {
        float sum = 0.0f;
        for (int a = 0; a < r0; a++)
            for (int b = 0; b < r1; b++)
                for (int c = 0; c < r2; c++) sum += x[(((a * k0 + i / k1) * r1 + b) * k1 + i % k1) * r2 + c];
        out[i] = sum;
    }
}

// One warp for each result.
FUNCTION sum_rows(At at, const float *x, float *out, int r0, int k0, int r1, int k1, int r2) {
    EACH_WARP(i, k0 * k1) {
        float sum = 0.0f;
        EACH_LANE(j, r0 * r1 * r2) {
            int c = j % r2, b = j / r2 % r1, a = j / r2 / r1;
            sum += x[(((a * k0 + i / k1) * r1 + b) * k1 + i % k1) * r2 + c];
        }
        sum = warp_sum(sum);
        if ((at.thread & 31) == 0) out[i] = sum;
    }
}

// One block for each result.
FUNCTION sum_blocks(const float *x, float *out, int r0, int k0, int r1, int k1, int r2) {
    __shared__ float shared[32];
    int i = blockIdx.x;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < r0 * r1 * r2; j += blockDim.x) {
        int c = j % r2, b = j / r2 % r1, a = j / r2 / r1;
        sum += x[(((a * k0 + i / k1) * r1 + b) * k1 + i % k1) * r2 + c];
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) out[i] = sum;
}

// One block for all results, one after the other.
FUNCTION sum_wide(const float *x, float *out, int r0, int k0, int r1, int k1, int r2) {
    __shared__ float shared[32];
    for (int i = 0; i < k0 * k1; i++) {
        float sum = 0.0f;
        for (int j = threadIdx.x; j < r0 * r1 * r2; j += blockDim.x) {
            int c = j % r2, b = j / r2 % r1, a = j / r2 / r1;
            sum += x[(((a * k0 + i / k1) * r1 + b) * k1 + i % k1) * r2 + c];
        }
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0) out[i] = sum;
    }
}

// Parts one after the other, added up in their order.
FUNCTION sum_parts(At at, const float *parts, float *out, int n, int count) {
    EACH(i, n) {
        float sum = 0.0f;
        for (int p = 0; p < count; p++) sum += parts[p * n + i];
        out[i] = sum;
    }
}

// Mean and sum of squared distances from it, of a row that a warp reads.
static __device__ __forceinline__ void row_moments(At at, const float *x, int n, float *mean, float *squares) {
    float sum = 0.0f, square = 0.0f;
    EACH_LANE(j, n) sum += x[j];
    *mean = warp_sum(sum) * (1.0f / n);
    EACH_LANE(j, n) {
        float d = x[j] - *mean;
        square += d * d;
    }
    *squares = warp_sum(square);
}

FUNCTION softmax(At at, const float *x, float *out, int rows, int n) {
    EACH_WARP(i, rows) {
        float largest = -INFINITE, sum = 0.0f;
        EACH_LANE(j, n) largest = fmaxf(largest, x[i * n + j]);
        largest = warp_most(largest);
        EACH_LANE(j, n) sum += expf(x[i * n + j] - largest);
        sum = warp_sum(sum);
        EACH_LANE(j, n) out[i * n + j] = expf(x[i * n + j] - largest) / sum;
    }
}

FUNCTION softmax_grad(At at, const float *y, const float *grad, float *out, int rows, int n) {
    EACH_WARP(i, rows) {
        float sum = 0.0f;
        EACH_LANE(j, n) sum += y[i * n + j] * grad[i * n + j];
        sum = warp_sum(sum);
        EACH_LANE(j, n) out[i * n + j] = y[i * n + j] * (grad[i * n + j] - sum);
    }
}

FUNCTION layer_norm(At at, const float *x, const float *scale, const float *shift, float *out, int rows, int n,
                    float eps) {
    EACH_WARP(i, rows) {
        float mean, squares;
        row_moments(at, x + i * n, n, &mean, &squares);
        float inverse = 1.0f / sqrtf(squares * (1.0f / n) + eps);
        EACH_LANE(j, n) out[i * n + j] = (x[i * n + j] - mean) * inverse * scale[j] + shift[j];
    }
}

FUNCTION layer_norm_input(At at, const float *x, const float *scale, const float *grad, float *out, int rows, int n,
                          float eps) {
    EACH_WARP(i, rows) {
        float mean, squares;
        row_moments(at, x + i * n, n, &mean, &squares);
        float inverse = 1.0f / sqrtf(squares * (1.0f / n) + eps), sum = 0.0f, along = 0.0f;
        EACH_LANE(j, n) {
            float g = grad[i * n + j] * scale[j];
            sum += g, along += g * (x[i * n + j] - mean) * inverse;
        }
        sum = warp_sum(sum), along = warp_sum(along);
        EACH_LANE(j, n) {
            float unit = (x[i * n + j] - mean) * inverse;
            out[i * n + j] = inverse * (grad[i * n + j] * scale[j] - (sum + unit * along) * (1.0f / n));
        }
    }
}

// By one block: the rows' moments first, then the columns.
FUNCTION layer_norm_sums(At at, const float *x, const float *grad, float *out, float *work, int rows, int n, float eps) {
    EACH_WARP(i, rows) {
        float mean, squares;
        row_moments(at, x + i * n, n, &mean, &squares);
        if ((at.thread & 31) == 0) work[2 * i] = mean, work[2 * i + 1] = 1.0f / sqrtf(squares * (1.0f / n) + eps);
    }
    __syncthreads();
    EACH(j, n) {
        float scale = 0.0f, shift = 0.0f;
        for (int i = 0; i < rows; i++) {
            float g = grad[i * n + j];
            scale += g * (x[i * n + j] - work[2 * i]) * work[2 * i + 1], shift += g;
        }
        out[j] = scale, out[n + j] = shift;
    }
}

FUNCTION outer_mask_space(At at, const float *x, const float *time, const float *grad, float *out, int rows, int c,
                          int t) {
    EACH_WARP(i, rows) {
        const float *m = time + i / c * t;
        float sum = 0.0f;
        EACH_LANE(j, t) sum += x[i * t + j] * grad[i * t + j] * m[j];
        sum = warp_sum(sum);
        if ((at.thread & 31) == 0) out[i] = sum;
    }
}

FUNCTION outer_mask_time(At at, const float *x, const float *space, const float *grad, float *out, int n, int c,
                         int t) {
    EACH(i, n) {
        int b = i / t, j = i % t;
        float sum = 0.0f;
        for (int k = 0; k < c; k++) {
            int from = (b * c + k) * t + j;
            sum += x[from] * grad[from] * space[b * c + k];
        }
        out[i] = sum;
    }
}
