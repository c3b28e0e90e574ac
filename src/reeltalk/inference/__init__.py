"""Run networks. The only home of onnx, onnxruntime, torch and transformers."""
