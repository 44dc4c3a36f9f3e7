"""One package a protocol family: recognise, frame, follow, and describe what its frames say."""
