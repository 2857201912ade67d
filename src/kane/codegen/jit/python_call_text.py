"""LLVM text of the built-in function by which Python calls native code; ``python_call`` fills in its fields.

The function has the interface of METH_FASTCALL. Its arguments are stage, out, the parts of the state, and rest. It
copies the parts and rest of each state into new memory without gaps. Then it runs the code on this memory without the
interpreter lock, and copies the outputs into out. The loop in lanes reads the arrays in place instead.

``self`` is an array of integers:

    0      address of the code
    1      bytes for one state: its parts, rest, outputs and scratch
    2, 3   number of outputs to skip, number to return
    4 - 7  addresses of the types: array, double dtype, list, float
    8      most states of a batch
    9, 10  address of the loop over states in lanes, or 0; bytes of its sources and scratch
    11     number of checked arguments; their lengths follow
    then   dimensions of an out that is made for the call, or 0
    then   number of quaternions, the index of each in the state, and bounds for the square of their lengths
"""

CALL_TEXT = """
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)
@_Py_NoneStruct = external global i8
@_Py_TrueStruct = external global i8

define private i1 @turned(ptr %memory, i64 %step, i64 %n, ptr %turns.at) alwaysinline {{
begin:
  %turns = load i64, ptr %turns.at
  %starts.at = getelementptr i64, ptr %turns.at, i64 1
  %low.at = getelementptr i64, ptr %starts.at, i64 %turns
  %low = load double, ptr %low.at
  %high.at = getelementptr i64, ptr %low.at, i64 1
  %high = load double, ptr %high.at
  br label %turn
turn:
  %m = phi i64 [ 0, %begin ], [ %m.next, %turn.next ]
  %turns.left = icmp slt i64 %m, %turns
  br i1 %turns.left, label %quaternion, label %yes
quaternion:
  %first.at = getelementptr i64, ptr %starts.at, i64 %m
  %first = load i64, ptr %first.at
  br label %state
state:
  %i = phi i64 [ 0, %quaternion ], [ %i.next, %good ]
  %states.left = icmp slt i64 %i, %n
  br i1 %states.left, label %look, label %turn.next
look:
  %shift = mul i64 %i, %step
  %row = getelementptr i8, ptr %memory, i64 %shift
  %four.at = getelementptr double, ptr %row, i64 %first
  %four = load <4 x double>, ptr %four.at, align 8
  %squares = fmul <4 x double> %four, %four
  %square = call double @llvm.vector.reduce.fadd.v4f64(double 0.0, <4 x double> %squares)
  %short = fcmp olt double %square, %low
  %long = fcmp ogt double %square, %high
  %off = or i1 %short, %long
  br i1 %off, label %no, label %good
good:
  %i.next = add i64 %i, 1
  br label %state
turn.next:
  %m.next = add i64 %m, 1
  br label %turn
yes:
  ret i1 1
no:
  ret i1 0
}}

define ptr @kane_call(ptr %self, ptr %arguments, i64 %n) {{
begin:
  %table = call ptr @field(ptr %self, i64 {data})
  %bytes = call i64 @entry(ptr %table, i64 1)
  %wanted = call i64 @entry(ptr %table, i64 3)
  %limit = call i64 @entry(ptr %table, i64 8)
  %count = call i64 @entry(ptr %table, i64 11)
  %stage.array = load ptr, ptr %arguments
  %stage = call ptr @field(ptr %stage.array, i64 {data})
  %out.at = getelementptr ptr, ptr %arguments, i64 1
  %out = load ptr, ptr %out.at
  %own.place = add i64 %count, 12
  %own.long = call i64 @entry(ptr %table, i64 %own.place)
  %own = trunc i64 %own.long to i32
  %is.own = icmp ne i32 %own, 0
  %turns.place = add i64 %count, 13
  %turns.at = getelementptr i64, ptr %table, i64 %turns.place
  %trusted = icmp eq i64 %count, 0
  br i1 %trusted, label %singles, label %check
check:
  br i1 %is.own, label %made, label %given
made:
  %made.dimension = call i32 @word(ptr %out, i64 {dimension})
  %made.beyond = sub i32 %made.dimension, %own
  %made.fits = add i32 %made.beyond, 1
  %is.batch = icmp eq i32 %made.fits, 2
  %made.shape = call ptr @field(ptr %out, i64 {shape})
  %made.first = load i64, ptr %made.shape
  %made.states = select i1 %is.batch, i64 %made.first, i64 1
  %is.few = icmp sle i64 %made.states, %limit
  br i1 %is.few, label %one, label %wrong
given:
  %given.fits = call i32 @filled(ptr %out, ptr %table, i64 %wanted)
  %out.wrong = icmp eq i32 %given.fits, 0
  br i1 %out.wrong, label %wrong, label %one
one:
  %k = phi i64 [ 0, %made ], [ 0, %given ], [ %k.next, %fitting ]
  %widest = phi i32 [ 1, %made ], [ 1, %given ], [ %widest.next, %fitting ]
  %most = phi i64 [ 1, %made ], [ 1, %given ], [ %most.next, %fitting ]
  %dense = phi i1 [ 1, %made ], [ 1, %given ], [ %dense.next, %fitting ]
  %out.fits = phi i32 [ %made.fits, %made ], [ %given.fits, %given ], [ %out.fits, %fitting ]
  %states = phi i64 [ %made.states, %made ], [ 1, %given ], [ %states, %fitting ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %next, label %judge
next:
  %k.next = add i64 %k, 1
  %checked.place = add i64 %k, 2
  %checked.at = getelementptr ptr, ptr %arguments, i64 %checked.place
  %checked = load ptr, ptr %checked.at
  %length.place = add i64 %k, 12
  %length.wanted = call i64 @entry(ptr %table, i64 %length.place)
  %fits = call i32 @fits(ptr %checked, ptr %table, i64 %length.wanted)
  %unfit = icmp eq i32 %fits, 0
  br i1 %unfit, label %wrong, label %counted
counted:
  %rows = call i64 @states(ptr %checked, ptr %table)
  %rows.one = icmp eq i64 %rows, 1
  %rows.all = icmp eq i64 %rows, %states
  %rows.good = or i1 %rows.one, %rows.all
  br i1 %rows.good, label %shaped, label %wrong
shaped:
  %is.array = call i1 @is(ptr %checked, ptr %table, i64 4)
  br i1 %is.array, label %array.found, label %fitting
array.found:
  %stride.checked = call i64 @last(ptr %checked, i64 {strides})
  %is.row = icmp eq i64 %stride.checked, 8
  %flags = call i32 @word(ptr %checked, i64 {flags})
  %contiguous = trunc i32 %flags to i1
  %is.contiguous = or i1 %is.row, %contiguous
  br label %fitting
fitting:
  %is.dense = phi i1 [ 0, %shaped ], [ %is.contiguous, %array.found ]
  %dense.next = and i1 %dense, %is.dense
  %is.wider = icmp sgt i32 %fits, %widest
  %widest.next = select i1 %is.wider, i32 %fits, i32 %widest
  %is.more = icmp sgt i64 %rows, %most
  %most.next = select i1 %is.more, i64 %rows, i64 %most
  br label %one
judge:
  %extra = sub i32 %widest, %out.fits
  %is.same = icmp eq i32 %extra, 0
  %is.single = icmp eq i64 %states, 1
  %is.lifted = and i1 %is.own, %is.single
  %is.shape = or i1 %is.same, %is.lifted
  %is.all = icmp eq i64 %most, %states
  %matches = and i1 %is.shape, %is.all
  br i1 %matches, label %right, label %wrong
right:
  %is.long = icmp sge i64 %states, {least_lanes}
  br i1 %is.long, label %long, label %singles
long:
  br i1 %dense, label %lanes, label %wrong
lanes:
  %q.at = getelementptr ptr, ptr %arguments, i64 3
  %q = load ptr, ptr %q.at
  %q.data = call ptr @field(ptr %q, i64 {data})
  %q.before = getelementptr double, ptr %q.data, i64 -1
  %q.step = call i64 @step(ptr %q, ptr %table)
  %q.states = call i64 @states(ptr %q, ptr %table)
  %are.units = call i1 @turned(ptr %q.before, i64 %q.step, i64 %q.states, ptr %turns.at)
  br i1 %are.units, label %blocks, label %wrong
blocks:
  %lanes.bytes = call i64 @entry(ptr %table, i64 10)
  %sources = call ptr @PyMem_RawMalloc(i64 %lanes.bytes)
  %no.sources = icmp eq ptr %sources, null
  br i1 %no.sources, label %full, label %source
source:
  %s = phi i64 [ 2, %blocks ], [ %s.next, %source ]
  %source.at = phi ptr [ %sources, %blocks ], [ %source.next, %source ]
  %read.at = getelementptr ptr, ptr %arguments, i64 %s
  %read = load ptr, ptr %read.at
  %read.data = call ptr @field(ptr %read, i64 {data})
  %read.step = call i64 @step(ptr %read, ptr %table)
  store ptr %read.data, ptr %source.at
  %step.at = getelementptr i64, ptr %source.at, i64 1
  store i64 %read.step, ptr %step.at
  %source.next = getelementptr i64, ptr %source.at, i64 2
  %s.next = add i64 %s, 1
  %sources.left = icmp slt i64 %s.next, %n
  br i1 %sources.left, label %source, label %run.lanes
run.lanes:
  %loop.at = getelementptr ptr, ptr %table, i64 9
  %loop = load ptr, ptr %loop.at
  %lanes.thread = call ptr @PyEval_SaveThread()
  %lanes.out = call ptr @field(ptr %out, i64 {data})
  call void %loop(i64 %states, ptr %sources, ptr %stage, ptr %lanes.out, ptr %source.next)
  call void @PyEval_RestoreThread(ptr %lanes.thread)
  call void @PyMem_RawFree(ptr %sources)
  call void @Py_IncRef(ptr %out)
  ret ptr %out
singles:
  %lifted = phi i32 [ 0, %begin ], [ %extra, %right ]
  %all = phi i64 [ 1, %begin ], [ %states, %right ]
  %code = load ptr, ptr %table
  %skipped = call i64 @entry(ptr %table, i64 2)
  %out.data = call ptr @field(ptr %out, i64 {data})
  %all.bytes = mul i64 %all, %bytes
  %memory = call ptr @PyMem_RawMalloc(i64 %all.bytes)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %full, label %state
state:
  %i = phi i64 [ 0, %singles ], [ %i.next, %unit ]
  %block = phi ptr [ %memory, %singles ], [ %block.next, %unit ]
  br label %each
each:
  %j = phi i64 [ 2, %state ], [ %j.next, %read.done ]
  %start = phi ptr [ %block, %state ], [ %end, %read.done ]
  %array.at = getelementptr ptr, ptr %arguments, i64 %j
  %array = load ptr, ptr %array.at
  %is.list = call i1 @is(ptr %array, ptr %table, i64 6)
  br i1 %is.list, label %from.list, label %from.array
from.list:
  %list.end = call ptr @copy.list(ptr %start, ptr %array, ptr %table)
  %no.numbers = icmp eq ptr %list.end, null
  br i1 %no.numbers, label %refused, label %read.done
from.array:
  %data = call ptr @field(ptr %array, i64 {data})
  %length = call i64 @last(ptr %array, i64 {shape})
  %stride = call i64 @last(ptr %array, i64 {strides})
  %step = call i64 @step(ptr %array, ptr %table)
  %shift = mul i64 %i, %step
  %row = getelementptr i8, ptr %data, i64 %shift
  %array.end = call ptr @copy(ptr %start, ptr %row, i64 %stride, i64 %length)
  br label %read.done
read.done:
  %end = phi ptr [ %list.end, %from.list ], [ %array.end, %from.array ]
  %j.next = add i64 %j, 1
  %again = icmp slt i64 %j.next, %n
  br i1 %again, label %each, label %copied.all
copied.all:
  %is.unit = call i1 @turned(ptr %block, i64 0, i64 1, ptr %turns.at)
  br i1 %is.unit, label %unit, label %refused
unit:
  %i.next = add i64 %i, 1
  %block.next = getelementptr i8, ptr %block, i64 %bytes
  %more = icmp slt i64 %i.next, %all
  br i1 %more, label %state, label %loaded
refused:
  call void @PyMem_RawFree(ptr %memory)
  br label %wrong
wrong:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
loaded:
  %block.address = ptrtoint ptr %block to i64
  %start.address = ptrtoint ptr %start to i64
  %end.address = ptrtoint ptr %end to i64
  %rest.place = sub i64 %start.address, %block.address
  %out.place = sub i64 %end.address, %block.address
  %thread = call ptr @PyEval_SaveThread()
  br label %run
run:
  %r = phi i64 [ 0, %loaded ], [ %r.next, %run ]
  %state.run = phi ptr [ %memory, %loaded ], [ %state.next, %run ]
  %rest.run = getelementptr i8, ptr %state.run, i64 %rest.place
  %out.run = getelementptr i8, ptr %state.run, i64 %out.place
  %found = getelementptr double, ptr %out.run, i64 %skipped
  %work = getelementptr double, ptr %found, i64 %wanted
  call void %code(ptr %state.run, ptr %rest.run, ptr %stage, ptr %out.run, ptr %work)
  %r.next = add i64 %r, 1
  %state.next = getelementptr i8, ptr %state.run, i64 %bytes
  %runs.left = icmp slt i64 %r.next, %all
  br i1 %runs.left, label %run, label %ran
ran:
  call void @PyEval_RestoreThread(ptr %thread)
  %first.found = getelementptr i8, ptr %memory, i64 %out.place
  %first.wanted = getelementptr double, ptr %first.found, i64 %skipped
  br label %give
give:
  %g = phi i64 [ 0, %ran ], [ %g.next, %give ]
  %from = phi ptr [ %first.wanted, %ran ], [ %from.next, %give ]
  %to = phi ptr [ %out.data, %ran ], [ %copied, %give ]
  %copied = call ptr @copy(ptr %to, ptr %from, i64 8, i64 %wanted)
  %g.next = add i64 %g, 1
  %from.next = getelementptr i8, ptr %from, i64 %bytes
  %gifts.left = icmp slt i64 %g.next, %all
  br i1 %gifts.left, label %give, label %done
done:
  call void @PyMem_RawFree(ptr %memory)
  %is.whole = icmp eq i32 %lifted, 0
  %answer = select i1 %is.whole, ptr %out, ptr @_Py_TrueStruct
  call void @Py_IncRef(ptr %answer)
  ret ptr %answer
full:
  %error = call ptr @PyErr_NoMemory()
  ret ptr %error
}}
"""
