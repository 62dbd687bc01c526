# ruff: noqa: E501 (data)
"""Units as data: spelling → (dimension, factor to the dimension's base unit), currencies, months, number words."""

from __future__ import annotations

_SI = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_PREFIX_WORDS = {"": 1.0, "kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12, "peta": 1e15}


def _bytes() -> dict[str, tuple[str, float]]:
    table: dict[str, tuple[str, float]] = {}
    for index, (prefix, factor) in enumerate(_SI.items()):
        table[f"{prefix}b"] = ("bytes", factor)
        if prefix:
            table[f"{prefix}ib"] = ("bytes", 1024.0**index)
            table[f"{prefix}bps"] = ("bits/s", factor)
            table[f"{prefix}bit"] = table[f"{prefix}bits"] = ("bits", factor)
            table[f"{prefix}bit/s"] = table[f"{prefix}b/s"] = ("bits/s", factor)
    for word, factor in _PREFIX_WORDS.items():
        table[f"{word}byte"] = table[f"{word}bytes"] = ("bytes", factor)
        table[f"{word}bit"] = table[f"{word}bits"] = ("bits", factor)
    for index, word in enumerate(("kibi", "mebi", "gibi", "tebi"), start=1):
        table[f"{word}byte"] = table[f"{word}bytes"] = ("bytes", 1024.0**index)
    return table


def _of(dimension: str, **factors: float) -> dict[str, tuple[str, float]]:
    return {spelling: (dimension, factor) for spelling, factor in factors.items()}


_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_WEEK, _MONTH, _YEAR = 7 * _DAY, 30 * _DAY, 365 * _DAY

#: Spelling, lower case → (dimension, factor). Bytes: KB = 1000, KiB = 1024; a month is 30 and a year 365 days.
UNITS: dict[str, tuple[str, float]] = {
    **_bytes(),
    **_of("duration", ns=1e-9, nanosecond=1e-9, nanoseconds=1e-9, us=1e-6, microsecond=1e-6,
          microseconds=1e-6, ms=1e-3, msec=1e-3, millisecond=1e-3, milliseconds=1e-3, millisekunden=1e-3, s=1.0, sec=1.0,
          secs=1.0, second=1.0, seconds=1.0, sekunde=1.0, sekunden=1.0, min=_MINUTE, mins=_MINUTE, minute=_MINUTE,
          minutes=_MINUTE, minuten=_MINUTE, h=_HOUR, hr=_HOUR, hrs=_HOUR, hour=_HOUR, hours=_HOUR, stunde=_HOUR,
          stunden=_HOUR, heure=_HOUR, heures=_HOUR, hora=_HOUR, horas=_HOUR, minuto=_MINUTE, minutos=_MINUTE, d=_DAY,
          day=_DAY, days=_DAY, tag=_DAY, tage=_DAY, tagen=_DAY, jour=_DAY, jours=_DAY, día=_DAY, días=_DAY, week=_WEEK,
          weeks=_WEEK, woche=_WEEK, wochen=_WEEK, fortnight=2 * _WEEK, month=_MONTH, months=_MONTH, monat=_MONTH,
          monate=_MONTH, monaten=_MONTH, mois=_MONTH, year=_YEAR, years=_YEAR, yr=_YEAR, yrs=_YEAR, jahr=_YEAR,
          jahre=_YEAR, jahren=_YEAR, decade=10 * _YEAR, decades=10 * _YEAR, century=100 * _YEAR, centuries=100 * _YEAR),
    **{f"{micro}s": ("duration", 1e-6) for micro in "µμ"},
    **{f"{micro}m": ("length", 1e-6) for micro in "µμ"},
    **{f"{micro}g": ("mass", 1e-9) for micro in "µμ"},
    **_of("length", nm=1e-9, mm=1e-3, cm=1e-2, m=1.0, km=1e3, metre=1.0, metres=1.0, meter=1.0, meters=1.0,
          kilometre=1e3, kilometres=1e3, kilometer=1e3, kilometers=1e3, centimetres=1e-2, centimeters=1e-2,
          millimetres=1e-3, millimeters=1e-3, inch=0.0254, inches=0.0254, ft=0.3048, foot=0.3048, feet=0.3048,
          yd=0.9144, yard=0.9144, yards=0.9144, mi=1609.344, mile=1609.344, miles=1609.344),
    **_of("mass", mcg=1e-9, mg=1e-6, g=1e-3, kg=1.0, gram=1e-3, grams=1e-3, milligram=1e-6, milligrams=1e-6,
          kilogram=1.0, kilograms=1.0, kilo=1.0, kilos=1.0, tonne=1e3, tonnes=1e3, ton=1e3, tons=1e3, lb=0.45359237,
          lbs=0.45359237, pound=0.45359237, pounds=0.45359237, oz=0.028349523125, ounce=0.028349523125,
          ounces=0.028349523125),
    **_of("volume", ml=1e-3, l=1.0, litre=1.0, litres=1.0, liter=1.0, liters=1.0, gallon=3.785411784,
          gallons=3.785411784),
    **_of("frequency", hz=1.0, khz=1e3, mhz=1e6, ghz=1e9),
    **_of("power", w=1.0, kw=1e3, mw=1e6, watt=1.0, watts=1.0, kilowatt=1e3, kilowatts=1e3),
    **_of("voltage", v=1.0, mv=1e-3, kv=1e3, volt=1.0, volts=1.0),
    **_of("current", ma=1e-3, amp=1.0, amps=1.0),
    **_of("pixels", px=1.0, pixel=1.0, pixels=1.0),
    **_of("speed", **{"km/h": 1 / 3.6, "kmh": 1 / 3.6, "mph": 0.44704, "m/s": 1.0}),
    **_of("celsius", **{"°c": 1.0, "celsius": 1.0}),
    **_of("fahrenheit", **{"°f": 1.0, "fahrenheit": 1.0}),
    **_of("tokens", token=1.0, tokens=1.0),
}  # fmt: skip

#: Units whose letters differ in meaning by case; the exact spelling → entry, looked at first.
EXACT_UNITS: dict[str, tuple[str, float]] = {
    "Kb": ("bits", 1e3), "Mb": ("bits", 1e6), "Gb": ("bits", 1e9), "kb": ("bytes", 1e3), "mW": ("power", 1e-3),
    "GiB": ("bytes", 1024.0**3), "MBps": ("bytes/s", 1e6), "MB/s": ("bytes/s", 1e6), "GB/s": ("bytes/s", 1e9),
    "KB/s": ("bytes/s", 1e3), "kB/s": ("bytes/s", 1e3), "A": ("current", 1.0),
}  # fmt: skip

PERCENT = frozenset({"%", "percent", "per cent", "pct", "prozent", "pour cent", "por ciento", "percentage points"})

#: Symbol or code, lower case → ISO 4217.
CURRENCIES = {
    "$": "USD", "us$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "€": "EUR", "eur": "EUR", "euro": "EUR",
    "euros": "EUR", "£": "GBP", "gbp": "GBP", "¥": "JPY", "jpy": "JPY", "yen": "JPY", "chf": "CHF", "₹": "INR",
    "inr": "INR", "rupees": "INR", "cad": "CAD", "aud": "AUD", "cny": "CNY", "₩": "KRW", "krw": "KRW", "₽": "RUB",
}  # fmt: skip

MAGNITUDES = {
    "k": 1e3, "thousand": 1e3, "thousands": 1e3, "tausend": 1e3, "mille": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6,
    "million": 1e6, "millions": 1e6, "millionen": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9, "billions": 1e9,
    "milliarden": 1e9, "trillion": 1e12, "trillions": 1e12, "hundred": 1e2, "dozen": 12.0,
}  # fmt: skip

MONTHS = {
    **{name: n for n, names in enumerate((
        "january jan januar janvier enero", "february feb februar février febrero", "march mar märz mars marzo",
        "april apr avril abril", "may mai mayo", "june jun juni juin junio", "july jul juli juillet julio",
        "august aug août agosto", "september sep sept septembre septiembre", "october oct oktober octobre octubre",
        "november nov novembre noviembre", "december dec dezember décembre diciembre"), start=1) for name in names.split()},
}  # fmt: skip

NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12,
}  # fmt: skip
SCALE_WORDS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
ORDINAL_WORDS = {
    "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "eleventh": 11, "twelfth": 12,
}  # fmt: skip
