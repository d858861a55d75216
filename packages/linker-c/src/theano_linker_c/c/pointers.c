/* Numbers by pointer: see pointers.h. */
#include "pointers.h"

static int grow(Pointers *p) {
    Pointers larger = {.size = p->size == 0 ? 1024 : 2 * p->size, .count = p->count};
    larger.places = PyMem_Calloc(larger.size, sizeof *larger.places);
    larger.numbers = PyMem_Malloc(larger.size * sizeof *larger.numbers);
    if (larger.places == NULL || larger.numbers == NULL) {
        pointers_free(&larger);
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < p->size; i++)
        if (p->places[i] != NULL) {
            size_t k = pointers_place(&larger, p->places[i]);
            larger.places[k] = p->places[i];
            larger.numbers[k] = p->numbers[i];
        }
    pointers_free(p);
    *p = larger;
    return 0;
}

int pointers_set(Pointers *p, const void *pointer, int64_t number) {
    if (2 * (p->count + 1) > p->size && grow(p) < 0)
        return -1;
    size_t i = pointers_place(p, pointer);
    int is_new = p->places[i] == NULL;
    p->places[i] = pointer;
    p->numbers[i] = number;
    p->count += is_new;
    return is_new;
}

void pointers_free(Pointers *p) {
    PyMem_Free(p->places);
    PyMem_Free(p->numbers);
    memset(p, 0, sizeof *p);
}
