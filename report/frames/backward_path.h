/* The path of work that PyTorch's autograd engine launched. The agent stores it as
 *	forward stack;[backward] NODE;stack of the engine's thread
 * Without a forward stack, that of the thread which called backward() stands in its place; without either the path
 * begins with [backward] NODE (inject/launch/autograd_origin.h). Readers see
 *	forward stack up to its innermost Python frame;[backward] NODE;frames within the node's evaluation
 * or, on request, the stack of the engine's thread alone. Pure; any thread. */
#ifndef BACKWARD_PATH_H
#define BACKWARD_PATH_H

#include <stdbool.h>
#include <stdint.h>

struct catalog;

enum report_backward {
	REPORT_BACKWARD_FORWARD = 0, /* under the forward line */
	REPORT_BACKWARD_THREAD = 1,  /* under the thread that launched it */
};

/* Returns whether a node of stacks is a [backward] NODE frame. */
bool backward_path_is_node(const struct catalog *catalog, uint32_t node_id);

/* Returns the innermost node of the forward stack that readers see; 0: there is none. For a function of the user's own
 * it is the one that calls the function, since any of its launches may be the first. node_id: of [backward] NODE, as
 * below. */
uint32_t backward_path_forward(const struct catalog *catalog, uint32_t node_id);

/* Returns whether readers have to be told that the line may be a neighbour's, by BACKWARD_FRAME_NEAR at the end of the
 * node's name. It is not if the operation's name is among the frames that the innermost Python frame called. A function
 * of the user's own (torch.autograd.Function) has its call among the Python frames. CopySlices, of an operation in
 * place on a view, needs no mark if such an operation is among them, if all frames are known, and if no operator has
 * called the innermost Python frame. Without native names in the forward stack only a call of a user's function can be
 * found. false if there is no forward stack, but at most that of backward()'s caller, or if the guest has set the mark
 * already. */
bool backward_path_needs_mark(const struct catalog *catalog, uint32_t node_id);

/* Returns how many of these nodes readers see: those within the evaluation of autograd's node, or all if the engine's
 * frames are not known. nodes: of the engine's thread, leaf first. *instead: one frame outside of them that stands for
 * functions of PyTorch's which are left out, too (static storage); NULL: none. */
uint32_t backward_path_within(const struct catalog *catalog, const uint32_t *nodes, uint32_t count,
			      const char **instead);

#endif
