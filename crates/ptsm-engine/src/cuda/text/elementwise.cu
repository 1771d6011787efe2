// Elementwise functions of one and two values.

struct Same {
    __device__ __forceinline__ float value(float x) const { return x; }
    __device__ __forceinline__ float slope(float) const { return 1.0f; }
};
struct Elu {
    __device__ __forceinline__ float value(float x) const { return x > 0.0f ? x : expf(x) - 1.0f; }
    __device__ __forceinline__ float slope(float x) const { return x > 0.0f ? 1.0f : expf(x); }
};
struct Relu {
    __device__ __forceinline__ float value(float x) const { return x < 0.0f ? 0.0f : x; }
    __device__ __forceinline__ float slope(float x) const { return x > 0.0f ? 1.0f : 0.0f; }
};
struct Gelu {
    __device__ __forceinline__ float value(float x) const { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
    __device__ __forceinline__ float slope(float x) const {
        float density = expf(-0.5f * x * x) * 0.39894228f;
        return 0.5f * (1.0f + erff(x * 0.70710678f)) + x * density;
    }
};
struct Sigmoid {
    __device__ __forceinline__ float value(float x) const { return 1.0f / (1.0f + expf(-x)); }
    __device__ __forceinline__ float slope(float x) const {
        float y = value(x);
        return y * (1.0f - y);
    }
};
struct Square {
    __device__ __forceinline__ float value(float x) const { return x * x; }
    __device__ __forceinline__ float slope(float x) const { return x + x; }
};
struct Sqrt {
    __device__ __forceinline__ float value(float x) const { return sqrtf(x); }
    __device__ __forceinline__ float slope(float x) const { return 0.5f / sqrtf(x); }
};
struct Reciprocal {
    __device__ __forceinline__ float value(float x) const { return 1.0f / x; }
    __device__ __forceinline__ float slope(float x) const { return -(1.0f / (x * x)); }
};
struct Abs {
    __device__ __forceinline__ float value(float x) const { return fabsf(x); }
    __device__ __forceinline__ float slope(float x) const { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }
};
struct Exp {
    __device__ __forceinline__ float value(float x) const { return expf(x); }
    __device__ __forceinline__ float slope(float x) const { return expf(x); }
};
struct Ln {
    __device__ __forceinline__ float value(float x) const { return logf(x); }
    __device__ __forceinline__ float slope(float x) const { return 1.0f / x; }
};
struct Clamp {
    float low, high;
    __device__ __forceinline__ float value(float x) const {
        float larger = x < low ? low : x;
        return larger > high ? high : larger;
    }
    __device__ __forceinline__ float slope(float x) const { return x > low && x < high ? 1.0f : 0.0f; }
};
struct Affine {
    float scale, offset;
    __device__ __forceinline__ float value(float x) const { return x * scale + offset; }
    __device__ __forceinline__ float slope(float) const { return scale; }
};

template <class F> FUNCTION unary(At at, F f, const float *x, float *out, int n) {
    EACH(i, n) out[i] = f.value(x[i]);
}

template <class F> FUNCTION unary_grad(At at, F f, const float *x, const float *grad, float *out, int n) {
    EACH(i, n) out[i] = grad[i] * f.slope(x[i]);
}

struct Add {
    __device__ __forceinline__ float value(float a, float b) const { return a + b; }
};
struct Sub {
    __device__ __forceinline__ float value(float a, float b) const { return a - b; }
};
struct Mul {
    __device__ __forceinline__ float value(float a, float b) const { return a * b; }
};
struct Div {
    __device__ __forceinline__ float value(float a, float b) const { return a / b; }
};

template <class F> FUNCTION binary(At at, F f, const float *a, const float *b, float *out, int n) {
    EACH(i, n) out[i] = f.value(a[i], b[i]);
}

// Up to five axes; an operand's step is 0 along an axis that repeats.
struct Axes {
    int size[5], a[5], b[5];
};

template <class F> FUNCTION broadcast(At at, F f, const float *a, const float *b, float *out, int n, Axes axes) {
    EACH(i, n) {
        int left = i, ia = 0, ib = 0;
#pragma unroll
        for (int axis = 4; axis >= 0; axis--) {
            int j = left % axes.size[axis];
            left /= axes.size[axis];
            ia += j * axes.a[axis], ib += j * axes.b[axis];
        }
        out[i] = f.value(a[ia], b[ib]);
    }
}

FUNCTION fill(At at, float value, float *out, int n) {
    EACH(i, n) out[i] = value;
}

template <class D> FUNCTION dropout(At at, const Replica &own, D drop, const float *x, float *out, int rows, int n) {
    EACH(i, rows * n) out[i] = x[i] * drop.at(own, i / n, i % n);
}
