plugins {
    id("com.android.application") version "8.7.3"
    id("org.jetbrains.kotlin.android") version "2.0.21"
}

android {
    namespace = "org.trimtab.example"
    compileSdk = 35
    defaultConfig {
        applicationId = "org.trimtab.example"
        minSdk = 26
        targetSdk = 35
        versionCode = 1
        versionName = "1"
        ndk { abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64") } // those that were built
    }
    externalNativeBuild { cmake { path = file("src/main/cpp/CMakeLists.txt") } }
    androidResources { noCompress += "ttm" }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
    kotlinOptions { jvmTarget = "17" }
}

dependencies {
    implementation("androidx.activity:activity-ktx:1.9.3")
    implementation("androidx.camera:camera-camera2:1.4.0")
    implementation("androidx.camera:camera-lifecycle:1.4.0")
}
