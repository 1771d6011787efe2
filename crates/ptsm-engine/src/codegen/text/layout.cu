// Numbers that move.

FUNCTION unslice(At at, const float *x, float *out, int n, int whole, int start, int part) {
    EACH(i, n) {
        int j = i % whole - start;
        out[i] = j >= 0 && j < part ? x[i / whole * part + j] : 0.0f;
    }
}

FUNCTION concat(At at, const float *a, const float *b, float *out, int n, int na, int nb) {
    EACH(i, n) {
        int item = i / (na + nb), j = i % (na + nb);
        out[i] = j < na ? a[item * na + j] : b[item * nb + j - na];
    }
}

FUNCTION gather(At at, const float *table, const float *labels, float *out, int rows, int n) {
    EACH(i, rows * n) out[i] = table[(int)labels[i / n] * n + i % n];
}

FUNCTION scatter(At at, const float *grad, const float *labels, float *out, int batch, int rows, int n) {
    EACH(i, rows * n) {
        float sum = 0.0f;
        for (int b = 0; b < batch; b++)
            if ((int)labels[b] == i / n) sum += grad[b * n + i % n];
        out[i] = sum;
    }
}

FUNCTION copy(At at, const float *from, float *to, int n) {
    EACH(i, n) to[i] = from[i];
}

// An input, in rows of n.
FUNCTION take(At at, const Replica &own, int input, float *out, int rows, int n) {
    Feed feed = own.feeds[input];
    EACH(i, rows * n) {
        long long from = i;
        if (feed.rows) {
            int row = feed.rows[i / n], j = i % n;
            if (row >= feed.length) {
                row -= feed.length;
                j = feed.order[j / feed.part] * feed.part + j % feed.part;
            }
            from = (long long)row * n + j;
        }
        out[i] = feed.data[from];
    }
}
