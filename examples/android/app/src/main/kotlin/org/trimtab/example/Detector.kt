package org.trimtab.example

import android.content.Context
import android.hardware.HardwareBuffer
import android.media.Image
import java.io.File
import java.nio.ByteBuffer

/** A box in pixels of the frame. */
data class Box(
    val left: Float,
    val top: Float,
    val right: Float,
    val bottom: Float,
    val score: Float,
    val label: String,
)

/** A network with a camera and a head, for one thread. */
class Detector(context: Context, threads: Int = 2) : AutoCloseable {
    private val model: Long

    init {
        // A file is mapped, and its weights are not copied.
        val file = File(context.filesDir, "net.ttm")
        context.assets.open("net-${abi()}.ttm").use { asset ->
            file.outputStream().use { asset.copyTo(it) }
        }
        model = open(file.path, threads)
    }

    /** The boxes in a frame of YUV_420_888, best first. */
    fun boxes(image: Image): List<Box> {
        val planes = image.planes
        val strides = IntArray(6) { if (it < 3) planes[it].rowStride else planes[it - 3].pixelStride }
        val buffers = Array(3) { planes[it].buffer }
        return boxes(ofPlanes(model, image.width, image.height, buffers, strides))
    }

    /** The boxes in a buffer of YCBCR_420_888 that the processor may read; Android 10 and later. */
    fun boxes(buffer: HardwareBuffer): List<Box> = boxes(ofBuffer(model, buffer))

    override fun close() = close(model)

    private fun boxes(values: FloatArray) =
        values.toList().chunked(6) {
            Box(it[0], it[1], it[2], it[3], it[4], label(model, it[5].toInt()))
        }

    private companion object {
        init {
            System.loadLibrary("detector")
        }

        @JvmStatic external fun abi(): String

        @JvmStatic external fun open(path: String, threads: Int): Long

        @JvmStatic external fun close(model: Long)

        @JvmStatic external fun label(model: Long, index: Int): String

        @JvmStatic
        external fun ofPlanes(
            model: Long,
            width: Int,
            height: Int,
            planes: Array<ByteBuffer>,
            strides: IntArray,
        ): FloatArray

        @JvmStatic external fun ofBuffer(model: Long, buffer: HardwareBuffer): FloatArray
    }
}
