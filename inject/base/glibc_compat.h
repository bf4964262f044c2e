/* Lets one binary load from glibc 2.17 on. Newer C libraries export some functions under newer versions; this header
 * binds them to the oldest version that is still there. The build includes it in every source of the guest, and never
 * in tests. tests/inject/guest_symbols_test.sh finds a symbol that is missing here. */
#ifndef GLIBC_COMPAT_H
#define GLIBC_COMPAT_H

#if defined(__x86_64__) && defined(__linux__)
#define GLIBC_COMPAT(symbol) __asm__(".symver " #symbol "," #symbol "@GLIBC_2.2.5")

GLIBC_COMPAT(dladdr);
GLIBC_COMPAT(dlopen);
GLIBC_COMPAT(dlsym);
GLIBC_COMPAT(pthread_attr_init);
GLIBC_COMPAT(pthread_attr_setdetachstate);
GLIBC_COMPAT(pthread_attr_setstacksize);
GLIBC_COMPAT(pthread_create);
GLIBC_COMPAT(pthread_key_create);
GLIBC_COMPAT(pthread_mutex_lock);
GLIBC_COMPAT(pthread_mutex_timedlock);
GLIBC_COMPAT(pthread_mutex_trylock);
GLIBC_COMPAT(pthread_mutex_unlock);
GLIBC_COMPAT(pthread_once);
GLIBC_COMPAT(pthread_setspecific);
GLIBC_COMPAT(pthread_sigmask);

#undef GLIBC_COMPAT
#endif

#endif
