/* Convolutions and pooling of REAL numbers along three axes; of fewer axes, the first ones have length 1.
 *
 * `way` has three numbers each: lengths of images, of filters or windows, and of results, then steps, distances of the
 * elements of a filter, and zeros before the images. */

/* Tell whether windows see elements of the images only. */
static int theano_inside(const int64_t *way) {
    int inside = 1;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t last = (way[6 + axis] - 1) * way[9 + axis] + (way[3 + axis] - 1) * way[12 + axis];
        inside = inside && way[15 + axis] == 0 && last < way[axis];
    }
    return inside;
}

/* Copy elements that follow each other; or add the copy to them. */
static void NAME(theano_line)(int64_t n, REAL *restrict line, REAL *restrict copy, int back) {
    int64_t i = 0;
    if (back) {
        for (; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; k++)
                line[i + k] += copy[i + k];
        for (; i < n; i++)
            line[i] += copy[i];
        return;
    }
    for (; i + 8 <= n; i += 8)
        memcpy(copy + i, line + i, 8 * sizeof *copy);
    for (; i < n; i++)
        copy[i] = line[i];
}

/* Copy what `rows` rows of windows see, from row `first` on, to a matrix whose rows are the taps of the filters; or add
 * the matrix to the images. A row of windows is what the last axis has of them. */
static void NAME(theano_columns)(const int64_t *way, int flip, int64_t channels, int64_t first, int64_t rows,
                                 REAL *image, REAL *columns, int back) {
    const int64_t *lengths = way, *taps = way + 3, *output = way + 6, *step = way + 9, *apart = way + 12;
    const int64_t *before = way + 15, width = output[2];
    const int whole = theano_inside(way) && step[2] == 1;
    for (int64_t c = 0; c < channels; c++, image += lengths[0] * lengths[1] * lengths[2])
        for (int64_t tap = 0; tap < taps[0] * taps[1] * taps[2]; tap++) {
            const int64_t own = flip ? taps[0] * taps[1] * taps[2] - 1 - tap : tap;
            const int64_t k0 = own / (taps[1] * taps[2]), k1 = own / taps[2] % taps[1], k2 = own % taps[2];
            const int64_t shift = k2 * apart[2] - before[2];
            /* The windows from `begin` to `end` see elements of the images with this tap. */
            int64_t begin = shift < 0 ? (-shift + step[2] - 1) / step[2] : 0;
            int64_t end = lengths[2] > shift ? (lengths[2] - shift - 1) / step[2] + 1 : 0;
            begin = begin < width ? begin : width;
            end = end < width ? end : width;
            end = end < begin ? begin : end;
            int64_t row0 = first / output[1], row1 = first % output[1];
            if (whole) {
                const int64_t ahead = step[1] * lengths[2];
                for (int64_t row = 0; row < rows; row0++, row1 = 0) {
                    const int64_t left = rows - row, some = output[1] - row1 < left ? output[1] - row1 : left;
                    REAL *line = image + (row0 * step[0] + k0 * apart[0]) * lengths[1] * lengths[2];
                    line += (row1 * step[1] + k1 * apart[1]) * lengths[2] + shift;
                    for (int64_t i = 0; i < some; i++, line += ahead, columns += width)
                        NAME(theano_line)(width, line, columns, back);
                    row += some;
                }
                continue;
            }
            for (int64_t row = 0; row < rows; row++, columns += width, row1++) {
                if (row1 == output[1]) {
                    row0++;
                    row1 = 0;
                }
                const int64_t i0 = row0 * step[0] + k0 * apart[0] - before[0];
                const int64_t i1 = row1 * step[1] + k1 * apart[1] - before[1];
                const int inside = i0 >= 0 && i0 < lengths[0] && i1 >= 0 && i1 < lengths[1];
                REAL *line = image + (inside ? (i0 * lengths[1] + i1) * lengths[2] : 0);
                if (back) {
                    if (inside)
                        for (int64_t j = begin; j < end; j++)
                            line[j * step[2] + shift] += columns[j];
                    continue;
                }
                if (!inside) {
                    for (int64_t j = 0; j < width; j++)
                        columns[j] = 0;
                    continue;
                }
                for (int64_t j = 0; j < begin; j++)
                    columns[j] = 0;
                if (step[2] == 1)
                    for (int64_t j = begin; j < end; j++)
                        columns[j] = line[j + shift];
                else
                    for (int64_t j = begin; j < end; j++)
                        columns[j] = line[j * step[2] + shift];
                for (int64_t j = end; j < width; j++)
                    columns[j] = 0;
            }
        }
}

/* task 0: output = convolution of images with filters; 1: images = the gradient by them; 2: filters = the gradient by
 * them. Channels and filters are those of one group. As many rows of windows are taken at a time as there is room for
 * in `columns`, one at least. */
static void NAME(theano_convolve)(int task, const int64_t *way, int flip, int64_t count, int64_t groups,
                                  int64_t channels, int64_t filters, REAL *images, REAL *kernel, REAL *output,
                                  REAL *columns, int64_t room, REAL *copied) {
    const int64_t image = channels * way[0] * way[1] * way[2], taps = channels * way[3] * way[4] * way[5];
    const int64_t lines = way[6] * way[7], width = way[8], positions = lines * width;
    int64_t most = taps > 0 && width > 0 ? room / (taps * width) : 1;
    most = most < 1 ? 1 : most;
    if (task == 1)
        for (int64_t i = 0; i < count * groups * image; i++)
            images[i] = 0;
    if (task == 2)
        for (int64_t i = 0; i < groups * filters * taps; i++)
            kernel[i] = 0;
    for (int64_t n = 0; n < count * groups; n++, images += image, output += filters * positions) {
        REAL *own = kernel + n % groups * filters * taps;
        for (int64_t first = 0; first < lines; first += most) {
            const int64_t rows = lines - first < most ? lines - first : most, part = rows * width;
            REAL *result = output + first * width;
            if (task != 1)
                NAME(theano_columns)(way, flip, channels, first, rows, images, columns, 0);
            if (task == 0)
                NAME(theano_gemm)(filters, part, taps, 1, own, taps, 1, columns, part, 1, 0, result, positions, 1,
                                  copied);
            else if (task == 1)
                NAME(theano_gemm)(taps, part, filters, 1, own, 1, taps, result, positions, 1, 0, columns, part, 1,
                                  copied);
            else
                NAME(theano_gemm)(filters, taps, part, 1, result, positions, 1, columns, 1, part, 1, own, taps, 1,
                                  copied);
            if (task == 1)
                NAME(theano_columns)(way, flip, channels, first, rows, images, columns, 1);
        }
    }
}

/* Where window `at` of an axis begins and ends among the elements, and how many elements count for its mean. */
static int64_t theano_window(const int64_t *way, int axis, int64_t at, int with_padding, int64_t *begin, int64_t *end) {
    const int64_t start = at * way[9 + axis] - way[15 + axis], length = way[axis], padded = length + way[15 + axis];
    const int64_t stop = way[3 + axis] < padded - start ? start + way[3 + axis] : padded;
    *begin = start < 0 ? 0 : start;
    *end = stop < length ? stop : length;
    return with_padding ? stop - start : *end - *begin;
}

/* Tell whether windows are squares of two by two elements that do not overlap, without padding. */
static int theano_pairs(const int64_t *way) {
    return way[0] == 1 && way[3] == 1 && way[4] == 2 && way[5] == 2 && way[6] == 1 && way[10] == 2 && way[11] == 2 &&
           way[15] == 0 && way[16] == 0 && way[17] == 0 && 2 * way[7] <= way[1] && 2 * way[8] <= way[2];
}

/* The largest element of each of these windows; a NaN is larger than all numbers. */
static void NAME(theano_pool_squares)(const int64_t *way, int64_t count, const REAL *x, REAL *restrict y) {
    const int64_t width = way[8], length = way[2];
    for (int64_t n = 0; n < count; n++, x += way[1] * length)
        for (int64_t j = 0; j < way[7]; j++, y += width) {
            const REAL *const top = x + 2 * j * length;
            for (int64_t k = 0; k < width; k++)
                y[k] = top[2 * k];
            for (int tap = 1; tap < 4; tap++) {
                const REAL *const row = top + tap % 2 + tap / 2 * length;
                for (int64_t k = 0; k < width; k++) {
                    const REAL value = row[2 * k];
                    y[k] = ((value > y[k]) | (value != value)) ? value : y[k];
                }
            }
        }
}

/* mode 0: maxima; 1: sums; 2 and 3: means with and without the padding. The elements of all windows of a row are taken
 * together, those of one place in the window at a time. */
static void NAME(theano_pool)(const int64_t *way, int mode, int64_t count, const REAL *x, REAL *y) {
    const int64_t width = way[8], step = way[11], padded = way[2] + way[17];
    const int64_t taps = way[5] < padded ? way[5] : padded;
    int64_t a0, b0, a1, b1, a2, b2;
    if (mode == 0 && theano_pairs(way)) {
        NAME(theano_pool_squares)(way, count, x, y);
        return;
    }
    for (int64_t n = 0; n < count; n++, x += way[0] * way[1] * way[2])
        for (int64_t i = 0; i < way[6]; i++) {
            const int64_t c0 = theano_window(way, 0, i, mode == 2, &a0, &b0);
            for (int64_t j = 0; j < way[7]; j++, y += width) {
                const int64_t c1 = theano_window(way, 1, j, mode == 2, &a1, &b1);
                REAL *restrict to = y;
                for (int64_t k = 0; k < width; k++)
                    to[k] = mode == 0 ? (REAL)-INFINITY : 0;
                for (int64_t p = a0; p < b0; p++)
                    for (int64_t q = a1; q < b1; q++)
                        for (int64_t r = 0; r < taps; r++) {
                            const int64_t start = (p * way[1] + q) * way[2], shift = r - way[17];
                            int64_t begin = 0, end = width;
                            while (begin < end && begin * step + shift < 0)
                                begin++;
                            while (end > begin && (end - 1) * step + shift >= way[2])
                                end--;
                            if (begin == end)
                                continue;
                            const REAL *row = x + start + begin * step + shift;
                            REAL *restrict part = to + begin;
                            if (mode != 0)
                                for (int64_t k = 0; k < end - begin; k++)
                                    part[k] += row[k * step];
                            else if (step == 2)
                                for (int64_t k = 0; k < end - begin; k++) {
                                    const REAL value = row[2 * k];
                                    part[k] = ((value > part[k]) | (value != value)) ? value : part[k];
                                }
                            else
                                for (int64_t k = 0; k < end - begin; k++) {
                                    const REAL value = row[k * step];
                                    part[k] = ((value > part[k]) | (value != value)) ? value : part[k];
                                }
                        }
                for (int64_t k = 0; mode >= 2 && k < width; k++) {
                    const int64_t c2 = theano_window(way, 2, k, mode == 2, &a2, &b2);
                    to[k] /= (REAL)(c0 * c1 * c2);
                }
            }
        }
}

/* x = the gradient by what was pooled, by sums (mode 1) or means. */
static void NAME(theano_pool_back)(const int64_t *way, int mode, int64_t count, const REAL *y, REAL *x) {
    const int64_t size = way[0] * way[1] * way[2];
    int64_t a0, b0, a1, b1, a2, b2;
    for (int64_t i = 0; i < count * size; i++)
        x[i] = 0;
    for (int64_t n = 0; n < count; n++, x += size)
        for (int64_t i = 0; i < way[6]; i++) {
            const int64_t c0 = theano_window(way, 0, i, mode == 2, &a0, &b0);
            for (int64_t j = 0; j < way[7]; j++) {
                const int64_t c1 = theano_window(way, 1, j, mode == 2, &a1, &b1);
                for (int64_t k = 0; k < way[8]; k++, y++) {
                    const int64_t c2 = theano_window(way, 2, k, mode == 2, &a2, &b2);
                    const REAL part = mode == 1 ? *y : *y / (REAL)(c0 * c1 * c2);
                    for (int64_t p = a0; p < b0; p++)
                        for (int64_t q = a1; q < b1; q++)
                            for (int64_t r = a2; r < b2; r++)
                                x[(p * way[1] + q) * way[2] + r] += part;
                }
            }
        }
}

/* Where the first largest element of each of these windows is, `whole` gets the window's element of `windows`. */
static void NAME(theano_pool_squares_back)(const int64_t *way, int64_t count, const REAL *x, const REAL *y,
                                           REAL *restrict whole, const REAL *windows) {
    const int64_t width = way[8], length = way[2];
    if (way[1] != 2 * way[7] || length != 2 * width)
        for (int64_t i = 0; i < count * way[1] * length; i++)
            whole[i] = 0;
    for (int64_t n = 0; n < count; n++, x += way[1] * length, whole += way[1] * length)
        for (int64_t j = 0; j < way[7]; j++, y += width, windows += width) {
            const REAL *const top = x + 2 * j * length, *const low = top + length;
            REAL *const to = whole + 2 * j * length, *const under = to + length;
            for (int64_t k = 0; k < width; k++) {
                const REAL most = y[k], part = windows[k];
                const int a = top[2 * k] == most, b = !a & (top[2 * k + 1] == most);
                const int c = !(a | b) & (low[2 * k] == most), d = !(a | b | c) & (low[2 * k + 1] == most);
                to[2 * k] = a ? part : 0;
                to[2 * k + 1] = b ? part : 0;
                under[2 * k] = c ? part : 0;
                under[2 * k + 1] = d ? part : 0;
            }
        }
}

/* Where the first largest element of each window is: `whole` (of the shape of x) gets each window's element of
 * `windows` there (back), or `windows` gets the element of `whole`, and 0 where there is none. */
static void NAME(theano_pool_largest)(const int64_t *way, int back, int64_t count, const REAL *x, const REAL *y,
                                      REAL *whole, REAL *windows) {
    const int64_t size = way[0] * way[1] * way[2];
    const int few = (double)way[3] * (double)way[4] * (double)way[5] <= 9;
    int64_t a0, b0, a1, b1, a2, b2;
    if (back && theano_pairs(way)) {
        NAME(theano_pool_squares_back)(way, count, x, y, whole, windows);
        return;
    }
    if (back)
        for (int64_t i = 0; i < count * size; i++)
            whole[i] = 0;
    for (int64_t n = 0; n < count; n++, x += size, whole += size)
        for (int64_t i = 0; i < way[6]; i++) {
            theano_window(way, 0, i, 0, &a0, &b0);
            for (int64_t j = 0; j < way[7]; j++) {
                theano_window(way, 1, j, 0, &a1, &b1);
                for (int64_t k = 0; k < way[8]; k++, y++, windows++) {
                    int64_t found = -1;
                    theano_window(way, 2, k, 0, &a2, &b2);
                    /* In small windows, looking at all elements from behind takes less than a guess where to stop. */
                    for (int64_t p = b0 - 1; few && p >= a0; p--)
                        for (int64_t q = b1 - 1; q >= a1; q--) {
                            const int64_t start = (p * way[1] + q) * way[2];
                            for (int64_t r = b2 - 1; r >= a2; r--)
                                found = x[start + r] == *y ? start + r : found;
                        }
                    for (int64_t p = a0; !few && p < b0 && found < 0; p++)
                        for (int64_t q = a1; q < b1 && found < 0; q++)
                            for (int64_t r = a2; r < b2; r++)
                                if (x[(p * way[1] + q) * way[2] + r] == *y) {
                                    found = (p * way[1] + q) * way[2] + r;
                                    break;
                                }
                    if (!back)
                        *windows = found < 0 ? 0 : whole[found];
                    else if (found >= 0)
                        whole[found] += *windows;
                }
            }
        }
}
