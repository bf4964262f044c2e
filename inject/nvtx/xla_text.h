/* Reads the texts that XLA (JAX) gives to NVTX, for operations of its compiled programs: titles, and places in the
 * source. Source: xla/backends/gpu/runtime/annotation.cc of openxla/xla; checked with jaxlib 0.11 on an H200. Pure; any
 * thread. */
#ifndef XLA_TEXT_H
#define XLA_TEXT_H

#include <stdbool.h>

#include "nvtx_text.h"

#define XLA_TEXT_DOMAIN "TSL" /* of NVTX */

/* Writes the title of an operation, "Thunk:#name=NAME,hlo_op=OPERATION,unique_hlo_op_id=N#". The operation comes first,
 * so a cut shortens only NAME. Returns false if the string is not such a title. */
bool xla_text_title(struct nvtx_text *text, const char *string);

/* Writes the innermost line of each call stack that XLA lists for an operation: "train.py:loss:12, train.py:layer:5",
 * each once. A line of an installed package gives way to the line that led there. false: there is none. The string is a
 * line for each frame, with as many '-' as it is deep: "- /home/u/train.py:12:8[loss] add". */
bool xla_text_places(struct nvtx_text *text, const char *string);

#endif
