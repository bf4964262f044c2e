/* The two functions of red_zone_leaf.c: how many of their variables were not what they had been. */
#ifndef RED_ZONE_LEAF_H
#define RED_ZONE_LEAF_H

#include <stdint.h>

uint32_t leaf_with_red_zone(uint64_t seed);
uint32_t leaf_without_red_zone(uint64_t seed);

extern unsigned short leaf_with_red_zone_semaphore __attribute__((visibility("hidden")));
extern unsigned short leaf_without_red_zone_semaphore __attribute__((visibility("hidden")));

#endif
