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

FUNCTION fill(At at, float value, float *out, int n) {
    EACH(i, n) out[i] = value;
}
