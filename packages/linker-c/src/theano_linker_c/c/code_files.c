/* Names, sizes and times of files with code: what building a function depends on, looked at once in each process. */
#include "runtime.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define MODIFIED(info) (info).st_mtimespec
#define CHANGED(info) (info).st_ctimespec
#else
#define MODIFIED(info) (info).st_mtim
#define CHANGED(info) (info).st_ctim
#endif

static int ends_with(const char *name, const char *ending) {
    size_t have = strlen(name), wanted = strlen(ending);
    return have >= wanted && strcmp(name + have - wanted, ending) == 0;
}

#define NANOSECONDS(time) ((time).tv_sec * 1000000000LL + (time).tv_nsec)

/* When the code of a file came to stand in a folder. Installers share files between environments by hard links, and
 * each new link changes `st_ctime` of them all: then the file's own time counts, or that at which the folder has been
 * changed. */
static long long since(const struct stat *info, const struct stat *folder) {
    const long long changed = NANOSECONDS(CHANGED(*info));
    if (info->st_nlink < 2)
        return changed;
    const long long modified = NANOSECONDS(MODIFIED(*info)), filled = NANOSECONDS(MODIFIED(*folder));
    const long long later = modified > filled ? modified : filled;
    return changed < later ? changed : later;
}

static int append(PyObject *list, PyObject *value) {
    int status = value == NULL ? -1 : PyList_Append(list, value);
    Py_XDECREF(value);
    return status;
}

typedef struct {
    const char *path;
    int fd;
    struct stat info;
} Folder;

/* An entry of a folder: a file with code is told, a folder waits for its turn; `latest` gets the time of its change. */
static int tell(PyObject *found, PyObject *waiting, const Folder *folder, const char *name, long long *latest) {
    struct stat info;
    const int is_code = ends_with(name, ".py") || ends_with(name, ".so");
    if (!is_code && (strchr(name, '.') != NULL || strcmp(name, "__pycache__") == 0))
        return 0;
    if (fstatat(folder->fd, name, &info, 0) != 0)
        return 0; /* it has just been removed */
    if (S_ISDIR(info.st_mode))
        return is_code ? 0 : append(waiting, PyBytes_FromFormat("%s/%s", folder->path, name));
    if (!is_code)
        return 0;
    const long long changed = since(&info, &folder->info);
    if (changed > *latest)
        *latest = changed;
    char numbers[80];
    snprintf(numbers, sizeof numbers, "%lld %lld.%09ld", (long long)info.st_size, (long long)MODIFIED(info).tv_sec,
             (long)MODIFIED(info).tv_nsec);
    return append(found, PyBytes_FromFormat("%s/%s %s", folder->path, name, numbers));
}

static int tell_all(PyObject *found, PyObject *waiting, PyObject *path, long long *latest) {
    Folder folder = {.path = PyBytes_AS_STRING(path)};
    DIR *entries = opendir(folder.path);
    int status = entries == NULL || (folder.fd = dirfd(entries)) < 0 ? -1 : fstat(folder.fd, &folder.info);
    if (status != 0)
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, folder.path);
    if (entries == NULL)
        return -1;
    for (struct dirent *entry; status == 0 && (entry = readdir(entries)) != NULL;)
        status = tell(found, waiting, &folder, entry->d_name, latest);
    closedir(entries);
    return status;
}

/* Function `code_files(folder)`: a sorted list of bytes, "path size time" of each file with code below a folder, and
 * when the last one of them was changed or put there, in ns. */
PyObject *code_files(PyObject *module, PyObject *folder) {
    (void)module;
    long long latest = 0;
    PyObject *first = NULL, *found = PyList_New(0), *waiting = PyList_New(0);
    int status = found == NULL || waiting == NULL || !PyUnicode_FSConverter(folder, &first) ? -1 : 0;
    if (status == 0)
        status = PyList_Append(waiting, first);
    for (Py_ssize_t i = 0; status == 0 && i < PyList_GET_SIZE(waiting); i++)
        status = tell_all(found, waiting, PyList_GET_ITEM(waiting, i), &latest);
    if (status == 0)
        status = PyList_Sort(found);
    PyObject *told = status == 0 ? Py_BuildValue("OL", found, latest) : NULL;
    Py_XDECREF(found);
    Py_XDECREF(first);
    Py_XDECREF(waiting);
    return told;
}
