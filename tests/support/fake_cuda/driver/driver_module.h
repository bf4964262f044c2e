/* Modules, for the functions that call them libraries. */
#ifndef DRIVER_MODULE_H
#define DRIVER_MODULE_H

#include <cuda.h>

/* From PTX text, which need not outlive the call. */
CUresult driver_module_load(CUmodule *handle, const void *image);
CUresult driver_module_unload(CUmodule handle);

/* *function is a struct sim_kernel. */
CUresult driver_module_function(CUfunction *function, CUmodule handle, const char *name);

#endif
