/* From where on something is a finding, and why there. A clean run has none. Constant. */
#ifndef FINDING_LIMITS_H
#define FINDING_LIMITS_H

/* Launching a kernel takes a host 2 to 5 us, and CUDA graphs bring that to 1 us or less (NVIDIA, "Getting Started with
 * CUDA Graphs" and "Constant Time Launch for Straight-Line CUDA Graphs"). A kernel that is shorter on average cannot
 * hide its launch. If that is less than a tenth of the GPU time, or if the GPUs hardly idle, launches cost nothing. */
#define SHORT_KERNEL_NS    5000u
#define SHORT_KERNEL_SHARE 0.10 /* of the time of all kernels */
#define SHORT_KERNEL_IDLE  0.10 /* of the GPUs' windows */

/* cudaMemcpy() returns when the copy is done, and the host launches nothing meanwhile (CUDA Runtime API, "API
 * synchronization behavior"). One in a hundred is what the bandwidth of a single step's input takes in a run that is
 * fed well (figures.md: 1.1 % in the demo). */
#define BLOCKING_COPY_SHARE 0.01 /* of all GPU time; of waits: of the GPUs' windows */

/* GPUs of a fed training are busy for 80 % of the time and more; the rest are optimizer steps, logging, checkpoints. */
#define IDLE_SHARE       0.20 /* of a GPU's window */
#define IDLE_CAUSE_SHARE 0.50 /* of that idle time, so that one line explains it */

/* cudaFree() waits for the whole device. An allocator that caches asks CUDA once for each size: PyTorch's takes some
 * hundred segments in all ("PyTorch CUDA caching allocator"). So fewer are warm-up, and so is less than one for a
 * hundred kernels. */
#define ALLOCATIONS_LEAST   200u
#define ALLOCATIONS_KERNELS 0.01 /* allocations for a kernel */
#define ALLOCATIONS_FREED   0.50 /* of these, freed again in the run */

/* Data-parallel training overlaps its gradient exchange with the backward pass. What one sees of NCCL is then the last
 * bucket, below a tenth ("PyTorch Distributed: Experiences on Accelerating Data Parallel Training", 2020). Twice that
 * is worth a look. */
#define EXPOSED_NCCL_SHARE 0.20 /* of the window; the median of all ranks */

/* An H100's tensor cores multiply TF32 numbers at 494 TFLOP/s, and its other units FP32 numbers at 67 (NVIDIA H100
 * Tensor Core GPU Architecture, table 2). So from a fifth of the time on, a step can lose a sixth of its time. */
#define FP32_MATMUL_SHARE 0.20 /* of the time of all kernels */

/* Below a quarter of the warps few kernels hide the latency of memory (CUDA C++ Best Practices Guide, "Occupancy").
 * Matrix products, convolutions and attention are built for few warps with many registers, so they do not count. A grid
 * of less than half as many blocks as the GPU has multiprocessors leaves the others empty for certain. */
#define LOW_OCCUPANCY     0.25 /* of a multiprocessor's warps */
#define SMALL_GRID        0.50 /* of the multiprocessors */
#define OCCUPANCY_OF_TIME 0.10 /* of the time of all kernels */

#endif
