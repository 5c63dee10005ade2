package org.trimtab.example

import android.Manifest
import android.os.Bundle
import android.widget.TextView
import androidx.activity.ComponentActivity
import androidx.activity.result.contract.ActivityResultContracts
import androidx.annotation.OptIn
import androidx.camera.core.CameraSelector
import androidx.camera.core.ExperimentalGetImage
import androidx.camera.core.ImageAnalysis
import androidx.camera.lifecycle.ProcessCameraProvider
import androidx.core.content.ContextCompat
import java.util.concurrent.Executors

/** Shows the boxes in the frames of the camera as text. */
class MainActivity : ComponentActivity() {
    private val worker = Executors.newSingleThreadExecutor()
    private lateinit var text: TextView

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        text = TextView(this).also(::setContentView)
        registerForActivityResult(ActivityResultContracts.RequestPermission()) { if (it) start() }
            .launch(Manifest.permission.CAMERA)
    }

    @OptIn(ExperimentalGetImage::class)
    private fun start() {
        val detector = Detector(this)
        // Frames that come during an inference are dropped. The format is YUV_420_888 by default.
        val analysis =
            ImageAnalysis.Builder()
                .setBackpressureStrategy(ImageAnalysis.STRATEGY_KEEP_ONLY_LATEST)
                .build()
        analysis.setAnalyzer(worker) { frame ->
            frame.use {
                val boxes = detector.boxes(it.image!!)
                runOnUiThread { text.text = boxes.joinToString("\n") { box -> box.toString() } }
            }
        }
        val future = ProcessCameraProvider.getInstance(this)
        future.addListener(
            { future.get().bindToLifecycle(this, CameraSelector.DEFAULT_BACK_CAMERA, analysis) },
            ContextCompat.getMainExecutor(this),
        )
    }
}
