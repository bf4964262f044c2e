/* The path of work that PyTorch's autograd engine launched. The agent stores it as
 *	forward stack;[backward] NODE;stack of the engine's thread
 * Without a forward stack, that of the thread which called backward() stands in its place; without either the path
 * begins with [backward] NODE (inject/launch/autograd_origin.h). The operation of a derivative's derivative ran in a
 * backward pass itself, without Python frames of its own. Its forward stack is then again such a path:
 *	forward stack;[backward] FIRST;native frames of the operation;[backward] NODE;stack of the engine's thread
 * Readers see
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

/* Returns the innermost node of the forward stack that readers see; 0: there is none. Of several forward stacks it is
 * the outermost one's. For a function of the user's own it is the one that calls the function, since any of its
 * launches may be the first. node_id: of [backward] NODE, as below. */
uint32_t backward_path_forward(const struct catalog *catalog, uint32_t node_id);

/* Returns whether readers have to be told that the line may be a neighbour's, by BACKWARD_FRAME_NEAR at the end of the
 * node's name. One of these proves a line:
 *	- The operation's name is among the frames that the innermost Python frame called.
 *	- In a derivative's derivative it is among the operation's native frames, and FIRST needs no mark either.
 *	- For CopySlices, of an operation in place on a view, such an operation is among these frames. All frames are
 *	  known, and no operator has called the innermost Python frame. The guest vouches for the rest.
 *	- A function of the user's own (torch.autograd.Function) has its call among the Python frames.
 *
 * Without native names in the forward stack only such a call can be found. There is nothing to prove without a forward
 * stack, or with that of backward()'s caller. A mark that the guest has set is enough. */
bool backward_path_needs_mark(const struct catalog *catalog, uint32_t node_id);

/* Returns how many of these nodes readers see: those within the evaluation of autograd's node, or all if the engine's
 * frames are not known. nodes: of the engine's thread, leaf first. *instead: one frame outside of them that stands for
 * functions of PyTorch's which are left out, too (static storage); NULL: none. */
uint32_t backward_path_within(const struct catalog *catalog, const uint32_t *nodes, uint32_t count,
			      const char **instead);

#endif
