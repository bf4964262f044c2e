/* The lines of a model that compiled code works for, in symbols and frames. The words beside them in the symbol of a
 * frame of generated code (wire.md, symbols) are each a part of the symbol without a source. */
#ifndef MODEL_LINES_H
#define MODEL_LINES_H

#define MODEL_LINES_MORE "..." /* further lines were left out */
/* The lines are not proven: they are the kernel's, or those of an equal kernel. */
#define MODEL_LINES_NEAR "≈"

/* The begin of a frame outside of a stack, whose rest are lines that a program's own code told: "[lines]model.py:f:3,
 * model.py:g:8". Readers see them inside. */
#define MODEL_LINES_FRAME "[lines]"

#endif
