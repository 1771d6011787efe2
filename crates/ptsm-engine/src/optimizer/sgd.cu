// Stochastic gradient descent with momentum. `own.update`: the rates of the gradient and of the running sum, the share of the weights that
// stays, the momentum.

struct SgdRule {
    float clip, l2;
};

// A block for each chunk. Nothing moves where the gradient is not finite.
FUNCTION sgd(const Replica &own, SgdRule rule, const int4 *chunks, const float *m, float *p, float *first, float *,
             const float *norm) {
    float length = norm[0];
    if (!(length <= 3.4028234e38f)) return;
    float factor = fminf(rule.clip / (length + 1e-6f), 1.0f);
    float of_gradient = own.update[0], of_sum = own.update[1], keep = own.update[2], momentum = own.update[3];
    int4 chunk = chunks[blockIdx.x];
    for (int i = threadIdx.x; i < chunk.w; i += blockDim.x) {
        float *v = p + chunk.y + i, *b = first + chunk.z + i;
        float g = m[chunk.x + i] * factor + rule.l2 * *v;
        *b = *b * momentum + g;
        *v = *v * keep - (of_gradient * g + of_sum * *b);
    }
}
