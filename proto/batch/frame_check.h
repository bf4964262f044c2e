/* Checks the bounds of a frame before msgpack-c sees it: a header of five bytes may claim 96 GB, and msgpack-c
 * allocates what a header claims. Walks the MessagePack headers only; allocates nothing. Pure. */
#ifndef FRAME_CHECK_H
#define FRAME_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* Checks that frame[0..size) is exactly one whole MessagePack array within these limits:
 *   - at most WIRE_FRAME_MAX bytes, and every element lies within the frame;
 *   - arrays nested at most WIRE_DEPTH_MAX deep (the frame's own array is the first);
 *   - at most WIRE_ITEMS_MAX elements in an array, and WIRE_ELEMENTS_MAX in all;
 *   - strings of at most WIRE_STRING_MAX bytes;
 *   - no map and no extension type.
 * 0; -EMSGSIZE: over a limit; -EBADMSG: another fault. *at is the offset of the faulty header, or size. */
int frame_check(const uint8_t *frame, size_t size, size_t *at);

#endif
