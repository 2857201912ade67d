/* Counts the memory allocations of each thread. When preloaded, it replaces the functions of the C library. */
#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Thread_local long asked;

long allocations(void) { return asked; }
void *malloc(size_t size) { asked++; return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { asked++; return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { asked++; return __libc_realloc(old, size); }
void *aligned_alloc(size_t to, size_t size) { asked++; return __libc_memalign(to, size); }
void *memalign(size_t to, size_t size) { asked++; return __libc_memalign(to, size); }
int posix_memalign(void **out, size_t to, size_t size) {
    asked++;
    *out = __libc_memalign(to, size);
    return *out ? 0 : ENOMEM;
}
