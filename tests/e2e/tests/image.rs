//! Releases that really run: Pods of the image of `make image`, in control planes of their own. `make image-test` runs these; without the
//! image (`NARTHEX_IMAGE_ROOT`) each says so and passes.

mod image {
    mod audit;
    mod faults;
    mod layouts;
    mod objects;
    mod pods;
    mod release;
    mod swap;
    mod traffic;
}
