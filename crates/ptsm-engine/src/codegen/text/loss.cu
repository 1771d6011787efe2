// Losses over a batch, each by one block.

// Mean cross-entropy; `work` holds a number for each row.
FUNCTION cross_entropy(At at, const float *logits, const float *labels, float *out, float *work, int rows, int k,
                       float smoothing) {
    float on = 1.0f - smoothing, off = smoothing / k;
    EACH_WARP(i, rows) {
        const float *row = logits + i * k;
        float largest = -INFINITE, sum = 0.0f, total = 0.0f;
        EACH_LANE(j, k) largest = fmaxf(largest, row[j]);
        largest = warp_most(largest);
        EACH_LANE(j, k) sum += expf(row[j] - largest);
        float log_sum = largest + logf(warp_sum(sum));
        EACH_LANE(j, k) total += log_sum - row[j];
        total = warp_sum(total);
        if ((at.thread & 31) == 0) work[i] = on * (log_sum - row[(int)labels[i]]) + off * total;
    }
    __syncthreads();
    if (at.thread < 32) {
        float sum = 0.0f;
        EACH_LANE(i, rows) sum += work[i];
        sum = warp_sum(sum);
        if (at.thread == 0) out[0] = sum * (1.0f / rows);
    }
}

FUNCTION cross_entropy_grad(At at, const float *logits, const float *labels, const float *grad, float *out, int rows,
                            int k, float smoothing) {
    float on = 1.0f - smoothing, off = smoothing / k, factor = grad[0] * (1.0f / rows);
    EACH_WARP(i, rows) {
        const float *row = logits + i * k;
        float largest = -INFINITE, sum = 0.0f;
        EACH_LANE(j, k) largest = fmaxf(largest, row[j]);
        largest = warp_most(largest);
        EACH_LANE(j, k) sum += expf(row[j] - largest);
        sum = warp_sum(sum);
        int label = (int)labels[i];
        EACH_LANE(j, k) out[i * k + j] = (expf(row[j] - largest) / sum - (j == label ? on : 0.0f) - off) * factor;
    }
}

// Unit rows, their norms, and for each anchor the softmax over the others; the logarithms of the sums at the end.
static __device__ void similar(At at, const float *x, float *work, int b, int n, float inverse) {
    float *unit = work, *norm = work + b * n, *share = norm + b, *log_sum = share + b * b;
    EACH_WARP(i, b) {
        float sum = 0.0f;
        EACH_LANE(j, n) sum += x[i * n + j] * x[i * n + j];
        sum = fmaxf(sqrtf(warp_sum(sum)), 1e-12f);
        EACH_LANE(j, n) unit[i * n + j] = x[i * n + j] / sum;
        if ((at.thread & 31) == 0) norm[i] = sum;
    }
    __syncthreads();
    // Rows that are one number apart from a power of two are read without waiting for each other.
    __shared__ float near[4352];
    bool fits = b * (n + 1) <= 4352;
    if (fits) EACH(i, b * n) near[i / n * (n + 1) + i % n] = unit[i];
    __syncthreads();
    const float *rows = fits ? near : unit;
    int apart = fits ? n + 1 : n;
    EACH(p, b * b) {
        const float *a = rows + p / b * apart, *c = rows + p % b * apart;
        float sum = 0.0f;
#pragma unroll 8
        for (int j = 0; j < n; j++) sum += a[j] * c[j];
        share[p] = sum * inverse;
    }
    __syncthreads();
    EACH_WARP(i, b) {
        float largest = -INFINITE, sum = 0.0f;
        EACH_LANE(j, b) if (j != i) largest = fmaxf(largest, share[i * b + j]);
        largest = warp_most(largest);
        EACH_LANE(j, b) if (j != i) sum += expf(share[i * b + j] - largest);
        sum = warp_sum(sum);
        if ((at.thread & 31) == 0) log_sum[i] = largest + logf(sum);
    }
    __syncthreads();
}

FUNCTION nt_xent(At at, const float *x, const float *labels, float *out, float *work, int b, int n, float inverse) {
    similar(at, x, work, b, n, inverse);
    float *norm = work + b * n, *share = norm + b, *log_sum = share + b * b;
    // The norms are not needed any more: an anchor's loss, or -1 without company.
    EACH_WARP(i, b) {
        float sum = 0.0f, count = 0.0f;
        EACH_LANE(j, b) if (j != i && labels[j] == labels[i]) sum += log_sum[i] - share[i * b + j], count += 1.0f;
        sum = warp_sum(sum), count = warp_sum(count);
        if ((at.thread & 31) == 0) norm[i] = count > 0.0f ? sum / count : 0.0f, work[i] = count > 0.0f ? 1.0f : 0.0f;
    }
    __syncthreads();
    if (at.thread < 32) {
        float sum = 0.0f, anchors = 0.0f;
        EACH_LANE(i, b) sum += norm[i], anchors += work[i];
        sum = warp_sum(sum), anchors = warp_sum(anchors);
        if (at.thread == 0) out[0] = anchors > 0.0f ? sum / anchors : 0.0f;
    }
}

FUNCTION nt_xent_grad(At at, const float *x, const float *labels, const float *grad, float *out, float *work, int b,
                      int n, float inverse) {
    similar(at, x, work, b, n, inverse);
    float *unit = work, *norm = work + b * n, *share = norm + b, *log_sum = share + b * b;
    float *counts = log_sum + b;
    EACH_WARP(i, b) {
        float count = 0.0f;
        EACH_LANE(j, b) if (j != i && labels[j] == labels[i]) count += 1.0f;
        count = warp_sum(count);
        if ((at.thread & 31) == 0) counts[i] = count;
    }
    __syncthreads();
    float anchors = 0.0f;
    for (int i = 0; i < b; i++) anchors += counts[i] > 0.0f ? 1.0f : 0.0f;
    float factor = anchors > 0.0f ? grad[0] * inverse / anchors : 0.0f;
    EACH(p, b * b) {
        int i = p / b, j = p % b;
        float g = 0.0f;
        if (i != j && counts[i] > 0.0f) {
            g = expf(share[p] - log_sum[i]);
            if (labels[i] == labels[j]) g -= 1.0f / counts[i];
        }
        share[p] = g * factor;
    }
    __syncthreads();
    EACH_WARP(i, b) {
        float along = 0.0f;
        EACH_LANE(k, n) {
            float sum = 0.0f;
            for (int j = 0; j < b; j++) sum += (share[i * b + j] + share[j * b + i]) * unit[j * n + k];
            out[i * n + k] = sum;
            along += sum * unit[i * n + k];
        }
        along = warp_sum(along);
        EACH_LANE(k, n) out[i * n + k] = (out[i * n + k] - along * unit[i * n + k]) / norm[i];
    }
}
