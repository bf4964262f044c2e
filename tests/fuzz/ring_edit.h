/* The inputs of ring_fuzz: what a guest writes into its ring, as a list of these, each with its bytes behind it.
 * Numbers are taken modulo what there is. */
#ifndef RING_EDIT_H
#define RING_EDIT_H

#include <stdint.h>

enum ring_edit_kind {
	RING_EDIT_LAUNCH,     /* where: the lane; a launch_record */
	RING_EDIT_RECORD,     /* a gpu_record */
	RING_EDIT_COLLECTIVE, /* a collective_record */
	RING_EDIT_DEFINITION, /* type; size bytes */
	RING_EDIT_STACK,      /* size bytes, of which whole words are taken */
	RING_EDIT_CODE,       /* size bytes, of which `type` are the file's name */
	RING_EDIT_COUNT,      /* type: the reason; where: the device; two numbers */
	RING_EDIT_POKE,       /* where: in the ring, by type near its start or anywhere; eight bytes. The guest, which trusts
	                         its own memory, does nothing afterwards */
	RING_EDIT_PASS,       /* the agent reads */
	RING_EDIT_TAKE_OVER,  /* another agent takes the ring, from the mark of message `where` */
	RING_EDIT_KINDS,
};

struct ring_edit {
	uint8_t kind, type;
	uint16_t size;
	uint32_t where;
};

#endif
