/* Which CUPTI this is: fake libcupti is built once for each version that differs. Sizes of records as in NVIDIA's
 * headers of that version, of 13.1 and later by what its release notes say was appended; CUPTI fills the newest
 * struct. */
#ifndef CUPTI_BUILD_H
#define CUPTI_BUILD_H

#include <cupti.h>

#ifndef FAKE_CUPTI_BUILD
#define FAKE_CUPTI_BUILD 130001
#endif

#define CUPTI_BUILD_LARGEST 256u

#if FAKE_CUPTI_BUILD >= 130300
#define CUPTI_BUILD_KERNEL 232u
#elif FAKE_CUPTI_BUILD >= 130100
#define CUPTI_BUILD_KERNEL 224u
#elif FAKE_CUPTI_BUILD >= 130000
#define CUPTI_BUILD_KERNEL 216u
#else
#define CUPTI_BUILD_KERNEL 208u
#endif

#if FAKE_CUPTI_BUILD >= 26 /* 12.8: copyCount */
#define CUPTI_BUILD_MEMCPY 96u
#else
#define CUPTI_BUILD_MEMCPY 88u
#endif

#if FAKE_CUPTI_BUILD >= 21 /* 12.3: the end's device and context; per-thread buffers */
#define CUPTI_BUILD_GRAPH         56u
#define CUPTI_BUILD_ATTRIBUTE_MAX 15u
#else
#define CUPTI_BUILD_GRAPH         48u
#define CUPTI_BUILD_ATTRIBUTE_MAX 8u
#endif

#if FAKE_CUPTI_BUILD >= 130000 /* 13.0: the source */
#define CUPTI_BUILD_MEMORY 128u
#else
#define CUPTI_BUILD_MEMORY 120u
#endif

#define CUPTI_BUILD_THREAD_BUFFERS (FAKE_CUPTI_BUILD >= 130000)
#define CUPTI_BUILD_SUBSCRIBE_V2   (FAKE_CUPTI_BUILD >= 130000)

/* What subscribing, registering and enabling fail with: as asked for, or because this version does not fit the driver;
 * else CUPTI_SUCCESS. */
CUptiResult cupti_build_refusal(void);

/* As cuptiGetVersion() says. */
uint32_t cupti_build_version(void);

#endif
