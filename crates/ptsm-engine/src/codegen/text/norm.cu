// Pooling along time, and batch normalisation with all that follows it.

// Samples `start(j) .. end(j)` make up place j; sample t belongs to the places `first(t) ..= last(t)`.
struct Windows {
    int size, stride, time, places;
    static const bool max = false, on = true;
    __device__ __forceinline__ int start(int j) const { return j * stride; }
    __device__ __forceinline__ int end(int j) const { return j * stride + size; }
    __device__ __forceinline__ int first(int t) const { return t < size ? 0 : (t - size) / stride + 1; }
    __device__ __forceinline__ int last(int t) const { return min(t / stride, places - 1); }
};
struct Average : Windows {};
struct Max : Windows {
    static const bool max = true;
};
struct Adaptive {
    int time, places;
    static const bool max = false, on = true;
    __device__ __forceinline__ int start(int j) const { return j * time / places; }
    __device__ __forceinline__ int end(int j) const { return ((j + 1) * time + places - 1) / places; }
    __device__ __forceinline__ int first(int t) const { return t * places / time; }
    __device__ __forceinline__ int last(int t) const { return min(((t + 1) * places - 1) / time, places - 1); }
};
struct Whole {
    static const bool max = false, on = false;
    __device__ __forceinline__ int start(int j) const { return j; }
    __device__ __forceinline__ int end(int j) const { return j + 1; }
    __device__ __forceinline__ int first(int t) const { return t; }
    __device__ __forceinline__ int last(int t) const { return t; }
};

struct Plain {
    const float *x;
    __device__ __forceinline__ float at(int t) const { return x[t]; }
};

template <class P, class V> static __device__ __forceinline__ float pooled(P pool, V value, int j) {
    if (!P::on) return value.at(j);
    int from = pool.start(j), to = pool.end(j);
    float sum = value.at(from);
    for (int t = from + 1; t < to; t++) sum = P::max ? most(sum, value.at(t)) : sum + value.at(t);
    return P::max ? sum : sum * (1.0f / (to - from));
}

// What sample t gets of the gradients of its places.
template <class P, class V> static __device__ __forceinline__ float unpooled(P pool, V value, const float *grad, int t) {
    if (!P::on) return grad[t];
    float sum = 0.0f;
    for (int j = pool.first(t); j <= pool.last(t); j++) {
        int from = pool.start(j), to = pool.end(j);
        if (t < from || t >= to) continue;
        if (P::max) {
            int best = from;
            float largest = value.at(from);
            for (int u = from + 1; u < to; u++) {
                float v = value.at(u);
                if (v > largest) largest = v, best = u;
            }
            if (best == t) sum += grad[j];
        } else {
            sum += grad[j] * (1.0f / (to - from));
        }
    }
    return sum;
}

template <class P> FUNCTION pool_rows(At at, P pool, const float *x, float *out, int rows, int time, int places) {
    EACH(i, rows * places) {
        Plain row = {x + i / places * time};
        out[i] = pooled(pool, row, i % places);
    }
}

template <class P>
FUNCTION pool_grad(At at, P pool, const float *x, const float *grad, float *out, int rows, int time, int places) {
    EACH(i, rows * time) {
        Plain row = {x + i / time * time};
        out[i] = unpooled(pool, row, grad + i / time * places, i % time);
    }
}

// Mean and biased variance of each channel over the batch. A block for each channel.
FUNCTION moments(const float *x, float *out, int b, int c, int t) {
    __shared__ float shared[32];
    int channel = blockIdx.x, n = b * t;
    const float *from = x + channel * t;
    float sum = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += from[i / t * c * t + i % t];
    float mean = block_sum(sum, shared) * (1.0f / n);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float d = from[i / t * c * t + i % t] - mean;
        square += d * d;
    }
    square = block_sum(square, shared);
    if (threadIdx.x == 0) out[channel] = mean, out[c + channel] = square * (1.0f / n);
}

FUNCTION running(At at, const float *old, const float *moments, float *out, int c, float momentum, float unbiased) {
    EACH(i, 2 * c) out[i] = (1.0f - momentum) * old[i] + momentum * moments[i] * (i < c ? 1.0f : unbiased);
}

// A row of the chain: normalised, activated, dropped.
template <class F, class D> struct Chain {
    F f;
    D drop;
    const Replica *own;
    const float *x;
    float mean, factor, shift;
    int row;
    __device__ __forceinline__ float normal(int t) const { return (x[t] - mean) * factor + shift; }
    __device__ __forceinline__ float kept(int t) const { return drop.at(*own, row, t); }
    __device__ __forceinline__ float at(int t) const { return f.value(normal(t)) * kept(t); }
};

template <class F, class D>
static __device__ __forceinline__ Chain<F, D> chain(const Replica &own, F f, D drop, const float *x, const float *moments,
                                                    const float *scale, const float *shift, int row, int c, int t,
                                                    float eps) {
    int channel = row % c;
    float deviation = sqrtf(moments[c + channel] + eps);
    Chain<F, D> one = {f, drop, &own, x + (long long)row * t, moments[channel], scale[channel] / deviation,
                       shift[channel], row};
    return one;
}

template <class F, class D, class P>
FUNCTION normalise(At at, const Replica &own, F f, D drop, P pool, const float *x, const float *moments,
                   const float *scale, const float *shift, float *out, int b, int c, int t, int places, float eps) {
    EACH(i, b * c * places) {
        int row = i / places;
        out[i] = pooled(pool, chain(own, f, drop, x, moments, scale, shift, row, c, t, eps), i % places);
    }
}

template <class F, class D, class P>
static __device__ __forceinline__ float back(Chain<F, D> one, P pool, const float *grad, int t) {
    return unpooled(pool, one, grad, t) * one.kept(t) * one.f.slope(one.normal(t));
}

// The same where there are many rows: a warp for each, which holds it where it is pooled.
template <int T, class F, class D, class P>
FUNCTION normalise_rows(At at, const Replica &own, F f, D drop, P pool, const float *x, const float *moments,
                        const float *scale, const float *shift, float *out, int b, int c, int places, float eps) {
    __shared__ float all[8][P::on ? T : 1];
    float *held = all[threadIdx.x >> 5];
    EACH_WARP(row, b * c) {
        Chain<F, D> one = chain(own, f, drop, x, moments, scale, shift, row, c, T, eps);
        Hand hand = drop.hand();
        float *to = P::on ? held : out + row * T;
        EACH_LANE(t, T) to[t] = f.value(one.normal(t)) * drop.at(own, row, t, hand);
        if (P::on) {
            __syncwarp();
            Plain values = {held};
            EACH_LANE(j, places) out[row * places + j] = pooled(pool, values, j);
            __syncwarp();
        }
    }
}

// What the warp holds for the way back: the values, where their largest are asked for.
template <int T, class F, class D, class P>
static __device__ __forceinline__ void hold(At at, const Replica &own, Chain<F, D> one, P, float *held) {
    if (!P::max) return;
    Hand hand = one.drop.hand();
    __syncwarp();
    EACH_LANE(t, T) held[t] = one.f.value(one.normal(t)) * one.drop.at(own, one.row, t, hand);
    __syncwarp();
}

// Gradients of shift and scale. A block of W warps for each channel, a warp for each row.
template <int T, int W, class F, class D, class P>
FUNCTION normalise_sums(At at, const Replica &own, F f, D drop, P pool, const float *x, const float *moments,
                        const float *scale, const float *shift, const float *grad, float *out, int b, int c, int places,
                        float eps) {
    __shared__ float shared[32], all[W][P::max ? T : 1];
    int channel = blockIdx.x;
    float sum = 0.0f, along = 0.0f, *held = all[threadIdx.x >> 5];
    Plain values = {held};
    for (int trial = threadIdx.x >> 5; trial < b; trial += W) {
        int row = trial * c + channel;
        Chain<F, D> one = chain(own, f, drop, x, moments, scale, shift, row, c, T, eps);
        hold<T>(at, own, one, pool, held);
        Hand hand = drop.hand();
        EACH_LANE(t, T) {
            float g = unpooled(pool, values, grad + row * places, t) * drop.at(own, row, t, hand) * f.slope(one.normal(t));
            sum += g, along += (one.x[t] - one.mean) * g;
        }
    }
    sum = block_sum(sum, shared);
    along = block_sum(along, shared);
    if (threadIdx.x == 0) out[channel] = sum, out[c + channel] = along / sqrtf(moments[c + channel] + eps);
}

// Gradient of the input where there are many rows.
template <int T, class F, class D, class P>
FUNCTION normalise_input_rows(At at, const Replica &own, F f, D drop, P pool, const float *x, const float *moments,
                              const float *scale, const float *shift, const float *grad, const float *sums, float *out,
                              int b, int c, int places, float eps) {
    __shared__ float all[8][P::max ? T : 1];
    float *held = all[threadIdx.x >> 5], share = 1.0f / (b * T);
    Plain values = {held};
    EACH_WARP(row, b * c) {
        int channel = row % c;
        Chain<F, D> one = chain(own, f, drop, x, moments, scale, shift, row, c, T, eps);
        hold<T>(at, own, one, pool, held);
        Hand hand = drop.hand();
        float centre = 0.0f, slope = 0.0f;
        if (sums) {
            centre = sums[channel] * share;
            slope = sums[c + channel] * share / sqrtf(moments[c + channel] + eps);
        }
        EACH_LANE(t, T) {
            float g = unpooled(pool, values, grad + row * places, t) * drop.at(own, row, t, hand) * f.slope(one.normal(t));
            out[row * T + t] = one.factor * ((g - centre) - slope * (one.x[t] - one.mean));
        }
    }
}

// Gradient of the input; without `sums` the moments are not the batch's own.
template <class F, class D, class P>
FUNCTION normalise_input(At at, const Replica &own, F f, D drop, P pool, const float *x, const float *moments,
                         const float *scale, const float *shift, const float *grad, const float *sums, float *out,
                         int b, int c, int t, int places, float eps) {
    float share = 1.0f / (b * t);
    EACH(i, b * c * t) {
        int row = i / t, channel = row % c, j = i % t;
        Chain<F, D> one = chain(own, f, drop, x, moments, scale, shift, row, c, t, eps);
        float g = back(one, pool, grad + row * places, j), centre = 0.0f, slope = 0.0f;
        if (sums) {
            centre = sums[channel] * share;
            slope = sums[c + channel] * share / sqrtf(moments[c + channel] + eps);
        }
        out[i] = one.factor * ((g - centre) - slope * (one.x[j] - one.mean));
    }
}
