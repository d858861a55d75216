/* Generators of random numbers for exported C code. Each function is copied where it is called. */

static uint32_t theano_mrg_reduced(uint32_t y, uint32_t m) {
    const uint32_t lower = y - m; /* wraps to something large where y is below m */
    return lower < y ? lower : y;
}

static uint32_t theano_mrg_shifted(uint32_t x) {
    return theano_mrg_reduced(((x & 65535u) << 15) + 21069u * (x >> 16), 2147462579u);
}

/* One step of a stream of MRG31k3p: a number from 1 to 2^31 - 1. */
static int32_t theano_mrg_next(int32_t *s) {
    const uint32_t x12 = (uint32_t)s[1], x13 = (uint32_t)s[2], x21 = (uint32_t)s[3], x23 = (uint32_t)s[5];
    const uint32_t y =
        theano_mrg_reduced(((x12 & 511u) << 22) + (x12 >> 9) + ((x13 & 16777215u) << 7) + (x13 >> 24), 2147483647u);
    const uint32_t new1 = theano_mrg_reduced(y + x13, 2147483647u);
    uint32_t new2 = theano_mrg_reduced(theano_mrg_shifted(x23) + x23, 2147462579u);
    new2 = theano_mrg_reduced(new2 + theano_mrg_shifted(x21), 2147462579u);
    s[2] = s[1];
    s[1] = s[0];
    s[0] = (int32_t)new1;
    s[5] = s[4];
    s[4] = s[3];
    s[3] = (int32_t)new2;
    return (int32_t)(new1 - new2 + (new1 <= new2 ? 2147483647u : 0u));
}

/* The next 32 bits of a Mersenne twister: 624 words, and the position of the next one. */
static uint32_t theano_twister_next(uint32_t *s) {
    uint32_t y;
    if (s[624] >= 624) {
        for (int i = 0; i < 624; i++) {
            const uint32_t joined = (s[i] & 0x80000000u) | (s[(i + 1) % 624] & 0x7fffffffu);
            s[i] = s[(i + 397) % 624] ^ (joined >> 1) ^ (joined & 1 ? 0x9908b0dfu : 0u);
        }
        s[624] = 0;
    }
    y = s[s[624]++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* A number from 0 to 1, without 1, of 53 bits. */
static double theano_twister_real(uint32_t *s) {
    const uint32_t a = theano_twister_next(s) >> 5, b = theano_twister_next(s) >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
}

/* Two words of 32 bits as one of 64, the higher one first. */
static uint64_t theano_twister_long(uint32_t *s) {
    const uint64_t high = theano_twister_next(s);
    return high << 32 | theano_twister_next(s);
}

/* A normal number by the polar method; the second one of each pair is kept in the state (words 625 to 627). */
static double theano_twister_normal(uint32_t *s) {
    double a, b, r, kept;
    if (s[625]) {
        s[625] = 0;
        memcpy(&kept, s + 626, sizeof kept);
        memset(s + 626, 0, sizeof kept);
        return kept;
    }
    do {
        a = 2 * theano_twister_real(s) - 1;
        b = 2 * theano_twister_real(s) - 1;
        r = a * a + b * b;
    } while (r >= 1 || r == 0);
    r = sqrt(-2 * log(r) / r);
    kept = r * a;
    memcpy(s + 626, &kept, sizeof kept);
    s[625] = 1;
    return r * b;
}

/* A whole number from 0 to `most`, by masks and rejection. */
static uint64_t theano_twister_below(uint32_t *s, uint64_t most) {
    uint64_t mask = most, found;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    if (most == 0)
        return 0;
    do
        found = most > 0xffffffffu ? theano_twister_long(s) & mask : theano_twister_next(s) & mask;
    while (found > most);
    return found;
}

/* The next 64 bits of PCG64 (XSL-RR): the state and the increment, the higher words first. */
static uint64_t theano_pcg_next(uint64_t *s) {
    const uint64_t m1 = 2549297995355413924u, m0 = 4865540595714422341u;
    const uint64_t a = s[1] & 0xffffffffu, b = s[1] >> 32, c = m0 & 0xffffffffu, d = m0 >> 32;
    const uint64_t middle = (a * c >> 32) + (b * c & 0xffffffffu) + (a * d & 0xffffffffu);
    const uint64_t low = s[1] * m0;
    const uint64_t high = b * d + (b * c >> 32) + (a * d >> 32) + (middle >> 32) + s[0] * m0 + s[1] * m1;
    uint64_t mixed;
    int turns;
    s[1] = low + s[3];
    s[0] = high + s[2] + (s[1] < low);
    mixed = s[0] ^ s[1];
    turns = (int)(s[0] >> 58);
    return turns ? mixed >> turns | mixed << (64 - turns) : mixed;
}

static double theano_pcg_real(uint64_t *s) { return (double)(theano_pcg_next(s) >> 11) / 9007199254740992.0; }

/* The category that a number falls into: the first whose running sum exceeds it; past the sum the last possible one
 * where `closed` is set, and otherwise none: -1. */
static int64_t theano_category(const double *p, int64_t k, double u, int closed) {
    double sum = 0;
    for (int64_t j = 0; j < k; j++) {
        sum += p[j];
        if (u < sum)
            return j;
    }
    if (closed)
        for (int64_t j = k - 1; j >= 0; j--)
            if (p[j] > 0)
                return j;
    return -1;
}
