"""The real-time loop of a haptic session, and devices that live in native code."""
