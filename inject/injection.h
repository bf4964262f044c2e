/* The guest's entry point, called by the CUDA driver inside cuInit for the library that
 * CUDA_INJECTION64_PATH names. */
#ifndef INJECTION_H
#define INJECTION_H

/* Starts the guest if FLAMEGRID_SOCKET is set and an agent answers there within a second. Makes no cu* or cuda* call.
 * Always returns 1, which tells the driver that all is well. */
__attribute__((visibility("default"))) int InitializeInjection(void);

#endif
