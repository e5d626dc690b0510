select (select sum(seats_free) from flights) + (select count(*) from bookings) as seats
