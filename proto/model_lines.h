/* The words beside the lines of a model that compiled code works for. In the symbol of a frame of generated code
 * (wire.md, symbols) each of these words is a part without a source. */
#ifndef MODEL_LINES_H
#define MODEL_LINES_H

#define MODEL_LINES_MORE "..." /* further lines were left out */
/* The lines are not proven: they are the kernel's, or those of an equal kernel. */
#define MODEL_LINES_NEAR "≈"

/* Begins the frame of lines that a program's own code told: "[lines]model.py:f:3, model.py:g:8". The agent puts it
 * outside of the stack. Reports show the lines next to the work. */
#define MODEL_LINES_FRAME "[lines]"

#endif
