"""Run networks. The only home of onnxruntime."""
