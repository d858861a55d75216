/* The words of kernels (KERNEL, GLOBAL_MEM, LID_0, ga_float, ...) stand before the text of each kernel when it is
 * compiled for a device, which this line of its text asks for. On the host they mean nothing.
 */
#ifndef CLUDA_H
#define CLUDA_H
#endif
