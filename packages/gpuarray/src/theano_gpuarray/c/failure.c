/* Failures, libraries and parameters: what all drivers share. */
#include "driver.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int failure_set(Failure *failure, const char *format, ...) {
    if (failure == NULL || failure->text != NULL)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    failure->text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (failure->text != NULL) {
        va_start(arguments, format);
        vsnprintf(failure->text, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    return -1;
}

void failure_clear(Failure *failure) {
    free(failure->text);
    failure->text = NULL;
    failure->out_of_memory = 0;
}

const char *library_path(const Libraries *libraries, const char *role) {
    for (int i = 0; i < libraries->count; i++)
        if (strcmp(libraries->items[i].role, role) == 0)
            return libraries->items[i].path;
    return NULL;
}

void *library_open(const char *path, Failure *failure) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *reason = dlerror();
        failure_set(failure, "the library %s could not be opened\n  %s", path, reason == NULL ? "no reason" : reason);
    }
    return handle;
}

void *library_function(void *handle, const char *name, const char *path, Failure *failure) {
    void *function = dlsym(handle, name);
    if (function == NULL)
        failure_set(failure, "the library %s has no function %s", path, name);
    return function;
}

size_t parameter_size(char letter) {
    switch (letter) {
    case 'q': return sizeof(int64_t);
    case 'b':
    case 'B': return sizeof(int8_t);
    case 'h':
    case 'H': return sizeof(int16_t);
    case 'i': return sizeof(int32_t);
    case 'I': return sizeof(uint32_t);
    case 'f': return sizeof(float);
    case 'd': return sizeof(double);
    default: return 0;
    }
}
