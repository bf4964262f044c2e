/* Tells which version of NVIDIA's driver this host has. Any thread. */
#ifndef DRIVER_VERSION_H
#define DRIVER_VERSION_H

#include <stdbool.h>

#define DRIVER_VERSION_PATH "/proc/driver/nvidia/version"
#define DRIVER_VERSION_SIZE 32u /* bytes, with the NUL */

/* Reads "550.54.15" from the driver's file. false: there is none, or it has no version; version is then "". */
bool driver_version_read(const char *path, char version[static DRIVER_VERSION_SIZE]);

#endif
