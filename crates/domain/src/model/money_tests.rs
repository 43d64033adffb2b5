//! Rounding, bounds and odd numbers.

use super::*;
use proptest::prelude::*;

fn number(text: &str) -> Number {
    serde_json::from_str(text).unwrap()
}

#[test]
fn dollars_are_rounded_half_up_to_the_cent() {
    for (dollars, cents) in [
        (0.005, 1),
        (0.004_999, 0),
        (1.005, 101),
        (2.675, 268),
        (45.1, 4510),
        (0.0, 0),
        (9_999_999_999_999.99, MAX_CENTS),
    ] {
        assert_eq!(UsdCents::from_f64(dollars), Some(UsdCents(cents)), "{dollars}");
    }
}

#[test]
fn odd_floats_have_no_amount_and_never_panic() {
    for odd in [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        1e20,
        -1e20,
        1e15,
    ] {
        assert_eq!(UsdCents::from_f64(odd), None, "{odd}");
    }
    for tiny in [f64::MIN_POSITIVE, 5e-324, 1e-29, -1e-300, -0.0] {
        assert_eq!(UsdCents::from_f64(tiny), Some(UsdCents::ZERO), "{tiny}");
    }
}

#[test]
fn whole_amounts_print_without_a_fraction() {
    assert_eq!(UsdCents(4500).to_number(), number("45"));
    assert_eq!(UsdCents(4550).to_number(), number("45.5"));
    assert_eq!(UsdCents(1).to_number(), number("0.01"));
    assert_eq!(UsdCents(-5).to_string(), "-0.05");
}

#[test]
fn a_connect_costs_fifteen_cents() {
    assert_eq!(Connects::new(1).cost(), UsdCents(15));
    assert_eq!(Connects::ZERO.cost(), UsdCents::ZERO);
    assert_eq!(Connects::new(u64::MAX).cost(), UsdCents(i64::MAX), "saturates");
}

#[test]
fn connects_are_integers_from_zero_however_written() {
    for (text, connects) in [
        ("0", Some(0)),
        ("7.0", Some(7)),
        ("1e2", Some(100)),
        ("9007199254740991", Some(9_007_199_254_740_991)),
    ] {
        assert_eq!(
            Connects::from_number(&number(text)),
            connects.map(Connects),
            "{text}"
        );
    }
    for text in [
        "-1",
        "0.5",
        "1e300",
        "9007199254740992",
        "18446744073709551615",
        "-0.1",
        "1e-300",
        "-1e-300",
    ] {
        assert_eq!(Connects::from_number(&number(text)), None, "{text}");
    }
}

#[test]
fn percentages_lie_from_0_to_100() {
    for text in ["0", "100", "33.333", "1e-3", "100.0", "1e-300", "-0.0"] {
        assert!(Percentage::from_number(&number(text)).is_some(), "{text}");
    }
    for text in ["-0.1", "100.0001", "1e300", "-5", "-1e-300"] {
        assert!(Percentage::from_number(&number(text)).is_none(), "{text}");
    }
}

#[test]
fn hourly_rates_lie_above_zero_and_within_fifteen_digits() {
    for text in ["1e-300", "0.01", "45.125", "9999999999999.99"] {
        assert!(HourlyRate::from_number(&number(text)).is_some(), "{text}");
    }
    for text in ["0", "-0.0", "-1e-300", "-1", "10000000000000", "1e300"] {
        assert!(HourlyRate::from_number(&number(text)).is_none(), "{text}");
    }
}

#[test]
fn a_percentage_is_rounded_half_up_to_the_cent() {
    let of = |percent: &str, dollars: f64| {
        Percentage::from_number(&number(percent))
            .unwrap()
            .of(exact_decimal(dollars).unwrap())
    };
    assert_eq!(of("90", 45.5), Some(UsdCents(4095)));
    assert_eq!(of("33.3", 0.15), Some(UsdCents(5)), "4.995 cents");
    assert_eq!(of("50", 0.01), Some(UsdCents(1)), "half a cent");
    assert_eq!(of("49.99999999999999", 0.01), Some(UsdCents(0)));
    assert_eq!(of("1e-27", 1e-28), Some(UsdCents(0)));
    assert_eq!(of("100", 1e20), None);
    assert_eq!(of("0", 1e20), Some(UsdCents(0)));
}

proptest! {
    #[test]
    fn half_up_rounding_agrees_with_integer_arithmetic(percent_hundredths in 0_i64..=10_000, cents in 0_i64..=100_000_000) {
        let percentage = Percentage::from_decimal(Decimal::new(percent_hundredths, 2)).unwrap();
        let expected = (percent_hundredths * cents + 5_000) / 10_000;
        prop_assert_eq!(percentage.of(Decimal::new(cents, 2)), Some(UsdCents(expected)));
    }

    #[test]
    fn half_up_rounding_of_dollars_agrees_with_integer_arithmetic(ten_thousandths in 0_i64..=1_000_000_000_000) {
        let expected = (ten_thousandths + 50) / 100;
        prop_assert_eq!(UsdCents::from_decimal(Decimal::new(ten_thousandths, 4)), Some(UsdCents(expected)));
    }

    #[test]
    fn amounts_survive_json(cents in -MAX_CENTS..=MAX_CENTS) {
        let json = serde_json::to_string(&UsdCents(cents)).unwrap();
        prop_assert_eq!(serde_json::from_str::<UsdCents>(&json).unwrap(), UsdCents(cents));
    }

    #[test]
    fn no_float_panics(bits in any::<u64>(), percent in 0.0..=100.0_f64) {
        let float = f64::from_bits(bits);
        if let Some(decimal) = exact_decimal(float) {
            let percentage = Percentage::from_decimal(exact_decimal(percent).unwrap()).unwrap();
            let _ = percentage.of(decimal);
            if let Some(rate) = HourlyRate::from_decimal(decimal) {
                prop_assert!(rate.rounded_up().to_decimal() >= decimal);
            }
        }
        let _ = UsdCents::from_f64(float);
    }
}
