//! Scales pictures down, so that they fit into an answer.

use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageReader, Limits, Rgb, RgbImage};

/// Longest side of a scaled picture, in pixels. Models see no more of a larger one.
const LONGEST_SIDE: u32 = 1568;
/// Shortest useful side of a picture.
const SHORTEST_SIDE: u32 = 64;
/// Longest side of a picture that is read, in pixels.
const MAX_SIDE: u32 = 20_000;
/// Most memory for reading one, in bytes.
const MAX_MEMORY: u64 = 256 << 20;
/// The quality of the JPEG, of 100.
const QUALITY: u8 = 80;

/// Only one is read at a time, because of the memory.
static TURN: Mutex<()> = Mutex::new(());

/// `picture` as a JPEG of at most `most` bytes, with transparent parts in white.
pub(crate) fn scale(picture: &[u8], most: usize) -> Option<Vec<u8>> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut reader = ImageReader::new(Cursor::new(picture)).with_guessed_format().ok()?;
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(MAX_SIDE), Some(MAX_SIDE));
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let picture = reader.decode().ok()?;
    let mut side = LONGEST_SIDE;
    while side >= SHORTEST_SIDE {
        let jpeg = encode(&picture, side)?;
        if jpeg.len() <= most {
            return Some(jpeg);
        }
        side = side * 2 / 3;
    }
    None
}

fn encode(picture: &DynamicImage, side: u32) -> Option<Vec<u8>> {
    let is_larger = picture.width().max(picture.height()) > side;
    let small = if is_larger { picture.resize(side, side, FilterType::Triangle) } else { picture.clone() };
    let mut jpeg = Vec::new();
    over_white(&small).write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, QUALITY)).ok()?;
    Some(jpeg)
}

fn over_white(picture: &DynamicImage) -> RgbImage {
    let picture = picture.to_rgba8();
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0;
        let over = |part: u8| {
            let sum = u32::from(part) * u32::from(alpha) + 255 * (255 - u32::from(alpha));
            u8::try_from(sum / 255).unwrap_or(u8::MAX)
        };
        Rgb([over(red), over(green), over(blue)])
    })
}

#[cfg(test)]
mod tests {
    use image::{ImageFormat, Rgba, RgbaImage};

    use super::*;

    fn noise(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let picture = RgbaImage::from_fn(width, height, |_, _| Rgba([next(), next(), next(), 255]));
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::from(picture).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_picture_is_made_to_fit() {
        for (format, most) in [(ImageFormat::Png, 300_000), (ImageFormat::WebP, 40_000), (ImageFormat::Png, 5000)] {
            let large = noise(2000, 1000, format);
            let jpeg = scale(&large, most).unwrap();
            assert!(large.len() > most && jpeg.len() <= most, "{format:?} {most}");
            let small = image::load_from_memory_with_format(&jpeg, ImageFormat::Jpeg).unwrap();
            let (width, height) = (small.width(), small.height());
            assert!(width <= LONGEST_SIDE && width.abs_diff(2 * height) <= 2, "{width}x{height}");
        }
        assert_eq!(scale(&noise(200, 200, ImageFormat::Png), 100), None);
    }

    #[test]
    fn what_one_sees_through_is_white() {
        let picture = RgbaImage::from_pixel(80, 80, Rgba([0, 0, 0, 0]));
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::from(picture).write_to(&mut bytes, ImageFormat::Png).unwrap();
        let jpeg = scale(&bytes.into_inner(), 100_000).unwrap();
        let seen = image::load_from_memory(&jpeg).unwrap().to_rgb8();
        assert!(seen.pixels().all(|pixel| pixel.0.iter().all(|part| *part > 250)));
    }

    #[test]
    fn what_is_no_picture_or_too_large_is_left() {
        let mut huge = noise(100, 100, ImageFormat::Png);
        // The width and height of a PNG follow its signature and the name of its first chunk.
        huge[16..24].copy_from_slice(&[0, 0, 0x80, 0, 0, 0, 0x80, 0]);
        let cut = noise(300, 300, ImageFormat::Png)[..2000].to_vec();
        for picture in [huge, cut, b"no picture".to_vec(), Vec::new()] {
            assert_eq!(scale(&picture, 1_000_000), None);
        }
    }
}
