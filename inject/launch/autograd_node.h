/* Reads a node of autograd, an object of libtorch's class torch::autograd::Node, and gives references to it back. Any
 * thread. */
#ifndef AUTOGRAD_NODE_H
#define AUTOGRAD_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUTOGRAD_NODE_NAME_MAX  128u
#define AUTOGRAD_NODE_NO_NUMBER UINT64_MAX /* AccumulateGrad: no operation made it */

struct autograd_node {
	uint64_t type;      /* address of the class's table of functions */
	uint64_t number;    /* the sequence number, or AUTOGRAD_NODE_NO_NUMBER */
	uint64_t thread_id; /* of at::RecordFunction */
};

/* A reference that libtorch gave: std::shared_ptr<Node> (two words) up to PyTorch 2.12, c10::intrusive_ptr<Node> (one)
 * from then on. Both words are 0 before libtorch writes it. */
struct autograd_reference {
	uint64_t node;    /* address; 0: none */
	uint64_t control; /* of the shared_ptr; 0: the node counts its references itself */
};

/* Reads the node's fields. checked: reads with a system call, for which the memory need not be there. false: it is not
 * there, or its fields have values that no node has. */
bool autograd_node_read(const struct autograd_reference *reference, bool checked,
			struct autograd_node *node);

/* Reads how many references there are, with a system call. false: the memory is not there. */
bool autograd_node_count(const struct autograd_reference *reference, uint32_t *count);

/* Gives the reference back. It is never the last one, since the engine holds the node that it evaluates. */
void autograd_node_release(const struct autograd_reference *reference);

/* Writes the name of the node's class without its namespaces: "AddmmBackward0". There is no NUL, and a longer name is
 * cut. Returns its size; 0: it cannot be read. It makes system calls. */
size_t autograd_node_name(uint64_t type, char name[static AUTOGRAD_NODE_NAME_MAX]);

/* The same, of a class's name as typeinfo has it: "N5torch8autograd9generated14AddmmBackward0E". */
size_t autograd_node_class(const char *text, size_t size, char name[static AUTOGRAD_NODE_NAME_MAX]);

#endif
