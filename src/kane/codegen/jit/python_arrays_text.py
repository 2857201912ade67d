"""LLVM text of functions that read NumPy arrays and lists of floats; ``python_call`` fills in the offsets.

``%table`` is the array of integers that ``python_call_text`` describes. Its places 4 to 7 are addresses of types.

    field, word   pointer or 32-bit integer at an offset in an object
    entry         integer of the table
    last          last entry of an array's list of lengths or strides
    is            whether an object has the type at a place of the table
    states, step  number of states in an array (n, length), and bytes from one to the next; 1 and 0 for one state
    copy          copies doubles with a stride, and returns the end of the copy
    copy.list     the same for a list; null if an item is no float
    fits          dimensions of an array of doubles (length,) or (n, length), 1 for a list of this length, else 0
    filled        the same for an array that can be filled with one state
"""

ARRAYS_TEXT = """
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare double @PyFloat_AsDouble(ptr)

define private ptr @field(ptr %object, i64 %place) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %place
  %field = load ptr, ptr %at
  ret ptr %field
}}

define private i64 @entry(ptr %table, i64 %place) alwaysinline {{
  %at = getelementptr i64, ptr %table, i64 %place
  %entry = load i64, ptr %at
  ret i64 %entry
}}

define private i32 @word(ptr %array, i64 %place) alwaysinline {{
  %at = getelementptr i8, ptr %array, i64 %place
  %word = load i32, ptr %at
  ret i32 %word
}}

define private i64 @last(ptr %array, i64 %place) alwaysinline {{
  %dimension = call i32 @word(ptr %array, i64 {dimension})
  %axis = sub i32 %dimension, 1
  %list = call ptr @field(ptr %array, i64 %place)
  %at = getelementptr i64, ptr %list, i32 %axis
  %last = load i64, ptr %at
  ret i64 %last
}}

define private i1 @is(ptr %object, ptr %table, i64 %type) alwaysinline {{
  %kind = call ptr @field(ptr %object, i64 {kind})
  %address = ptrtoint ptr %kind to i64
  %wanted = call i64 @entry(ptr %table, i64 %type)
  %is = icmp eq i64 %address, %wanted
  ret i1 %is
}}

define private i64 @states(ptr %array, ptr %table) alwaysinline {{
  %is.array = call i1 @is(ptr %array, ptr %table, i64 4)
  br i1 %is.array, label %array.found, label %one
array.found:
  %dimension = call i32 @word(ptr %array, i64 {dimension})
  %is.vector = icmp eq i32 %dimension, 1
  br i1 %is.vector, label %one, label %rows
rows:
  %list = call ptr @field(ptr %array, i64 {shape})
  %states = load i64, ptr %list
  ret i64 %states
one:
  ret i64 1
}}

define private i64 @step(ptr %array, ptr %table) alwaysinline {{
  %states = call i64 @states(ptr %array, ptr %table)
  %list = call ptr @field(ptr %array, i64 {strides})
  %first = load i64, ptr %list
  %is.one = icmp eq i64 %states, 1
  %step = select i1 %is.one, i64 0, i64 %first
  ret i64 %step
}}

define private ptr @copy(ptr %to, ptr %from, i64 %stride, i64 %length) alwaysinline {{
begin:
  br label %more
more:
  %k = phi i64 [ 0, %begin ], [ %k.next, %next ]
  %source = phi ptr [ %from, %begin ], [ %source.next, %next ]
  %target = phi ptr [ %to, %begin ], [ %target.next, %next ]
  %left = icmp slt i64 %k, %length
  br i1 %left, label %next, label %done
next:
  %value = load double, ptr %source, align 1
  store double %value, ptr %target
  %source.next = getelementptr i8, ptr %source, i64 %stride
  %target.next = getelementptr double, ptr %target, i64 1
  %k.next = add i64 %k, 1
  br label %more
done:
  ret ptr %target
}}

define private ptr @copy.list(ptr %to, ptr %list, ptr %table) {{
begin:
  %length = call i64 @PyList_Size(ptr %list)
  br label %more
more:
  %k = phi i64 [ 0, %begin ], [ %k.next, %number ]
  %target = phi ptr [ %to, %begin ], [ %target.next, %number ]
  %left = icmp slt i64 %k, %length
  br i1 %left, label %next, label %done
next:
  %item = call ptr @PyList_GetItem(ptr %list, i64 %k)
  %is.float = call i1 @is(ptr %item, ptr %table, i64 7)
  br i1 %is.float, label %number, label %no
number:
  %value = call double @PyFloat_AsDouble(ptr %item)
  store double %value, ptr %target
  %target.next = getelementptr double, ptr %target, i64 1
  %k.next = add i64 %k, 1
  br label %more
done:
  ret ptr %target
no:
  ret ptr null
}}

define private i32 @fits(ptr %given, ptr %table, i64 %length) alwaysinline {{
  %is.array = call i1 @is(ptr %given, ptr %table, i64 4)
  br i1 %is.array, label %array.found, label %other
array.found:
  %numbers = call ptr @field(ptr %given, i64 {numbers})
  %number = ptrtoint ptr %numbers to i64
  %double = call i64 @entry(ptr %table, i64 5)
  %is.double = icmp eq i64 %number, %double
  %dimension = call i32 @word(ptr %given, i64 {dimension})
  %beyond = sub i32 %dimension, 1
  %is.short = icmp ult i32 %beyond, 2
  %both = and i1 %is.double, %is.short
  br i1 %both, label %short, label %no
short:
  %last = call i64 @last(ptr %given, i64 {shape})
  %fits = icmp eq i64 %last, %length
  %found = select i1 %fits, i32 %dimension, i32 0
  ret i32 %found
other:
  %is.list = call i1 @is(ptr %given, ptr %table, i64 6)
  br i1 %is.list, label %list, label %no
list:
  %items = call i64 @PyList_Size(ptr %given)
  %is.full = icmp eq i64 %items, %length
  %one = zext i1 %is.full to i32
  ret i32 %one
no:
  ret i32 0
}}

define private i32 @filled(ptr %out, ptr %table, i64 %length) alwaysinline {{
  %is.array = call i1 @is(ptr %out, ptr %table, i64 4)
  br i1 %is.array, label %array.found, label %no
array.found:
  %fits = call i32 @fits(ptr %out, ptr %table, i64 %length)
  %is.fit = icmp ne i32 %fits, 0
  br i1 %is.fit, label %fit, label %no
fit:
  %states = call i64 @states(ptr %out, ptr %table)
  %is.one = icmp eq i64 %states, 1
  %flags = call i32 @word(ptr %out, i64 {flags})
  %set = and i32 %flags, {carray}
  %all = icmp eq i32 %set, {carray}
  %good = and i1 %is.one, %all
  %found = select i1 %good, i32 %fits, i32 0
  ret i32 %found
no:
  ret i32 0
}}
"""
