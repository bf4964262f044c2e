/* The names by which guest, agent and reports know PyTorch's backward passes in stacks. Plain data. */
#ifndef BACKWARD_FRAME_H
#define BACKWARD_FRAME_H

#define BACKWARD_FRAME      "[backward]" /* alone, or followed by " " and the class of autograd's node */
#define BACKWARD_FRAME_NEAR " ≈"         /* at the end: the line may be a neighbour's */

/* The class of the nodes that torch.autograd.Function makes. Such a node takes its number before its function runs. */
#define BACKWARD_FRAME_CUSTOM "PyNode"

/* The class of the nodes that an operation in place on a view makes, behind the operation's own node. */
#define BACKWARD_FRAME_IN_PLACE "CopySlices"

/* The Python functions that call one of torch.autograd.Function, in this file. The second: before CPython 3.11. */
#define BACKWARD_FRAME_APPLY_FILE "torch/autograd/function.py"
#define BACKWARD_FRAME_APPLY      "Function.apply"
#define BACKWARD_FRAME_APPLY_OLD  "apply"

/* A thread that waits for a backward pass stands in one of these Python functions, in files of this directory: from
 * PyTorch 2.3 on in graph.py, before it in __init__.py. */
#define BACKWARD_FRAME_DIRECTORY "torch/autograd/"
#define BACKWARD_FRAME_CALLERS   "_engine_run_backward", "backward", "grad"

#endif
