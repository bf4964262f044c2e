/* The columns of STACKS, LEDGER and STREAM messages, in their order (wire.md). Encoder and decoder read the same
 * tables, so they agree. Plain data. */
#ifndef LIST_FIELDS_H
#define LIST_FIELDS_H

#include "event_fields.h"

#define LIST_FIELDS_MODULE	2u /* the build ids follow; they are no column */
#define LIST_FIELDS_MODULE_MORE 1u /* after the build ids; older agents do not send these */
#define LIST_FIELDS_FRAME	3u
#define LIST_FIELDS_NODE	2u
#define LIST_FIELDS_SYMBOL	2u
#define LIST_FIELDS_CODE	2u
#define LIST_FIELDS_LEDGER	4u
#define LIST_FIELDS_STREAM	5u
#define LIST_FIELDS_CONTEXT	5u

extern const struct event_field list_fields_module[LIST_FIELDS_MODULE];
extern const struct event_field list_fields_module_more[LIST_FIELDS_MODULE_MORE];
extern const struct event_field list_fields_frame[LIST_FIELDS_FRAME];
extern const struct event_field list_fields_node[LIST_FIELDS_NODE];
extern const struct event_field list_fields_symbol[LIST_FIELDS_SYMBOL];
extern const struct event_field list_fields_code[LIST_FIELDS_CODE];
extern const struct event_field list_fields_ledger[LIST_FIELDS_LEDGER];
extern const struct event_field list_fields_stream[LIST_FIELDS_STREAM];
extern const struct event_field list_fields_context[LIST_FIELDS_CONTEXT];

#endif
