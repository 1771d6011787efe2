// Adam. `own.update`: the rate with the first moment's correction, the correction of the second moment's root, the share of the weights that
// stays, the first beta.

struct AdamRule {
    float clip, l2, second, less_second, eps;
};

// A block for each chunk. Nothing moves where the gradient is not finite.
FUNCTION adam(const Replica &own, AdamRule rule, const int4 *chunks, const float *m, float *p, float *first, float *second,
              const float *norm) {
    float length = norm[0];
    if (!(length <= 3.4028234e38f)) return;
    float factor = fminf(rule.clip / (length + 1e-6f), 1.0f);
    float rate = own.update[0], root = own.update[1], keep = own.update[2], beta = own.update[3];
    int4 chunk = chunks[blockIdx.x];
    for (int i = threadIdx.x; i < chunk.w; i += blockDim.x) {
        float *v = p + chunk.y + i, *a = first + chunk.z + i, *b = second + chunk.z + i;
        float g = m[chunk.x + i] * factor + rule.l2 * *v;
        *a = *a * beta + g * (1.0f - beta);
        *b = *b * rule.second + g * g * rule.less_second;
        *v = *v * keep - rate * *a / (sqrtf(*b) * root + rule.eps);
    }
}
