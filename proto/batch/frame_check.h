/* Bounds check of a frame before msgpack-c sees it: five bytes may claim 96 GB, and msgpack-c
 * allocates what a header claims. Walks the MessagePack headers only; allocates nothing. Pure. */
#ifndef FRAME_CHECK_H
#define FRAME_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* Whether frame[0..size) is exactly one MessagePack array, whole, nested at most WIRE_DEPTH_MAX
 * deep (the frame's own array is the first), of at most WIRE_FRAME_MAX bytes, every element within
 * the frame, strings at most WIRE_STRING_MAX bytes, no map and no extension type, no array with
 * more than WIRE_ITEMS_MAX elements, and at most WIRE_ELEMENTS_MAX elements in all. 0; -EMSGSIZE:
 * over one of these limits; -EBADMSG: anything else. *at: the offset of the fault (of the header
 * that claims too much), or size. */
int frame_check(const uint8_t *frame, size_t size, size_t *at);

#endif
